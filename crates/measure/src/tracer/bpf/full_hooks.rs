//! Where the programs of the full mode are attached: to raw tracepoints, and to software events where the kernel has no
//! tracepoint for page faults.

use super::attach::{AttachError, Loading, Object, judged, refused, without_uring};
use super::phases::former_name;
use super::skipped::with_twin;
use aya::Ebpf;
use aya::programs::perf_event::{
    PerfEventConfig, PerfEventLinkId, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, PerfEvent, ProgramError};
use aya::util::online_cpus;

/// The raw tracepoints that an account needs.
const NEEDED: [&str; 7] = [
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "sched_waking",
    "signal_generate",
    "sys_enter",
    "sys_exit",
];
/// The tracepoints that not every kernel or architecture has.
const OPTIONAL: [&str; 5] = [
    "sched_prepare_exec",
    "page_fault_user",
    "page_fault_kernel",
    "io_uring_submit_req",
    "io_uring_complete",
];
/// Until Linux 5.17 the tracepoint does not contain the state in which a thread leaves.
const SWITCH: &str = "sched_switch";
const SWITCH_5_17: &str = "sched_switch_5_17";
/// A fault is taken. This software event is used if the processor's traps have no tracepoints (arm64).
const TAKEN: (&str, SoftwareEvent) = ("fault_begins", SoftwareEvent::PageFaults);
/// A fault has been handled. The tracepoint of memory control groups is used (Linux 6.15), or else a software event, which
/// is more expensive. The event of major faults is rare.
const HANDLED: &str = "count_memcg_events";
const HANDLED_MINOR: (&str, SoftwareEvent) = ("fault_minor", SoftwareEvent::PageFaultsMin);
const HANDLED_MAJOR: (&str, SoftwareEvent) = ("fault_major", SoftwareEvent::PageFaultsMaj);

/// The loaded programs of a kernel object, and the links of those that are attached.
pub(super) struct FullHooks {
    links: Vec<(&'static str, Link)>,
    object: Object,
    /// The one of two programs that this kernel accepted.
    switch: &'static str,
    sees_faults: bool,
    /// The tracepoint [`HANDLED`] reports faults: it exists, and memory control groups are not switched off.
    handled: Option<bool>,
}

enum Link {
    Raw(BtfTracePointLinkId),
    Perf(PerfEventLinkId),
}

impl std::fmt::Debug for FullHooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FullHooks").field("attached", &self.links.len()).finish_non_exhaustive()
    }
}

impl FullHooks {
    /// Loads the programs.
    pub(super) fn load(programs: &mut Ebpf, loading: Loading<'_>) -> Result<FullHooks, AttachError> {
        let (btf, object) = (loading.to_attach()?, loading.object);
        let mut load = |program, tracepoint| {
            raw(programs, program).and_then(|loaded| judged(|| loaded.load(tracepoint, &btf)))
        };
        for name in NEEDED {
            for program in with_twin(name, object) {
                load(program, name).map_err(|cause| refused(program, cause))?;
            }
        }
        let switch = if load(SWITCH, SWITCH).is_ok() { SWITCH } else { SWITCH_5_17 };
        if switch == SWITCH_5_17 {
            load(SWITCH_5_17, SWITCH).map_err(|cause| refused(SWITCH_5_17, cause))?;
        }

        for name in OPTIONAL.into_iter().chain([HANDLED]) {
            // Events that the kernel does not have are not seen. `attached` shows which ones are.
            for program in with_twin(name, object) {
                let _ = load(program, name).or_else(|_| load(program, former_name(name)));
            }
        }
        for (name, _) in [TAKEN, HANDLED_MINOR, HANDLED_MAJOR] {
            let _ = perf(programs, name).and_then(|program| judged(|| program.load()));
        }
        Ok(FullHooks { links: Vec::new(), object, switch, sees_faults: false, handled: None })
    }

    pub(super) fn object(&self) -> Object {
        self.object
    }

    pub(super) fn are_attached(&self) -> bool {
        !self.links.is_empty()
    }

    /// Whether the tracepoint [`HANDLED`] reports faults; `None`: this has not been tried.
    pub(super) fn handled(&self) -> Option<bool> {
        self.handled
    }

    pub(super) fn sees_faults(&self) -> bool {
        self.sees_faults
    }

    /// The names of the programs that are attached, each once.
    pub(super) fn attached(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.links.iter().map(|(name, _)| *name).collect();
        names.dedup();
        names
    }

    /// As `BpfFull::remarks`.
    pub(super) fn remarks(&self) -> Vec<&'static str> {
        let by_event = self.has(TAKEN.0).then_some("page faults by software events (no tracepoints)");
        let remarks = self.object.remark().into_iter().chain(by_event);
        remarks.chain(without_uring(&self.attached())).collect()
    }

    /// Attaches them, except to what [`FullHooks::attach_rest`] decides on.
    pub(super) fn attach(&mut self, programs: &mut Ebpf) -> Result<(), AttachError> {
        let object = self.object;
        for name in NEEDED.into_iter().chain([self.switch]).flat_map(|name| with_twin(name, object)) {
            let attached = raw(programs, name).and_then(BtfTracePoint::attach);
            let link = attached.map_err(|cause| refused(name, cause))?;
            self.links.push((name, Link::Raw(link)));
        }

        for name in OPTIONAL {
            self.attach_if_there(programs, name);
        }
        if !self.has("page_fault_user") {
            self.attach_everywhere(programs, TAKEN);
        }
        if self.handled != Some(false) {
            self.attach_if_there(programs, HANDLED);
        }
        Ok(())
    }

    /// Attaches the software event of minor faults if the tracepoint has not `handled` them, and that of major ones.
    pub(super) fn attach_rest(&mut self, programs: &mut Ebpf, handled: bool) {
        self.handled = Some(handled);
        if !handled {
            self.attach_everywhere(programs, HANDLED_MINOR);
        }
        self.attach_everywhere(programs, HANDLED_MAJOR);

        let is_taken_seen = self.has("page_fault_user") || self.has(TAKEN.0);
        let is_handled_seen = self.has(HANDLED) || self.has(HANDLED_MINOR.0);
        self.sees_faults = is_taken_seen && is_handled_seen && self.has(HANDLED_MAJOR.0);
    }

    fn has(&self, name: &str) -> bool {
        self.links.iter().any(|(attached, _)| *attached == name)
    }

    fn attach_if_there(&mut self, programs: &mut Ebpf, name: &'static str) {
        for program in with_twin(name, self.object) {
            if let Ok(link) = raw(programs, program).and_then(BtfTracePoint::attach) {
                self.links.push((program, Link::Raw(link)));
            }
        }
    }

    /// Attaches a software event on every processor.
    fn attach_everywhere(&mut self, programs: &mut Ebpf, (name, event): (&'static str, SoftwareEvent)) {
        for cpu in online_cpus().unwrap_or_default() {
            let attached = perf(programs, name).and_then(|program| {
                let scope = PerfEventScope::AllProcessesOneCpu { cpu };
                program.attach(PerfEventConfig::Software(event), scope, SamplePolicy::Period(1), false)
            });
            if let Ok(link) = attached {
                self.links.push((name, Link::Perf(link)));
            }
        }
    }

    /// Detaches all.
    pub(super) fn detach(&mut self, programs: &mut Ebpf) -> Result<(), AttachError> {
        for (name, link) in self.links.drain(..) {
            let detached = match link {
                Link::Raw(link) => raw(programs, name).and_then(|program| program.detach(link)),
                Link::Perf(link) => perf(programs, name).and_then(|program| program.detach(link)),
            };
            detached.map_err(|cause| refused(name, cause))?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn detach_only(&mut self, programs: &mut Ebpf, names: &[&str]) {
        let (these, others) = self.links.drain(..).partition(|(name, _)| names.contains(name));
        self.links = these;
        self.detach(programs).unwrap();
        self.links = others;
    }
}

fn raw<'p>(programs: &'p mut Ebpf, name: &str) -> Result<&'p mut BtfTracePoint, ProgramError> {
    programs.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
}

fn perf<'p>(programs: &'p mut Ebpf, name: &str) -> Result<&'p mut PerfEvent, ProgramError> {
    programs.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
}
