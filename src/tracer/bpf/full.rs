//! Attaches the full-mode programs and observes runs with them: every system call, fault, switch and image.

use super::calibration;
use super::full_session::{CALLS, Session, Shared, Tables, parse, records};
use super::meaning;
use super::phases::{AttachError, check_namespace, kill_survivors, taken};
use super::ring_drain::RingDrain;
use crate::arch::path_arguments;
use crate::launch::wait::until_reaped;
use crate::launch::{LaunchError, Launcher, OutputKind, Preparation};
use crate::tracer::full::EventCosts;
use crate::tracer::{Backend, Event, EventKind, Recording, Setting, Tracer, frame};
use aya::maps::{MapData, RingBuf};
use aya::programs::perf_event::{
    PerfEventConfig, PerfEventLinkId, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use aya::programs::raw_trace_point::RawTracePointLinkId;
use aya::programs::{PerfEvent, ProgramError, RawTracePoint};
use aya::util::online_cpus;
use aya::{Btf, Ebpf, EbpfLoader};
use std::os::fd::AsFd;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/full.bpf.o"));

/// The raw tracepoints without which there is no account.
const NEEDED: [&str; 8] = [
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "sched_switch",
    "sched_wakeup",
    "signal_generate",
    "sys_enter",
    "sys_exit",
];
/// Those that not every kernel or architecture has.
const OPTIONAL: [&str; 3] = ["sched_prepare_exec", "page_fault_user", "page_fault_kernel"];
/// The programs on software events: a fault has been handled.
const HANDLED: [(&str, SoftwareEvent); 2] =
    [("fault_minor", SoftwareEvent::PageFaultsMin), ("fault_major", SoftwareEvent::PageFaultsMaj)];

/// The default size of the ring buffer of the full mode, bytes: what does not fit the log goes there.
pub const LARGE_RING: u32 = 16 << 20;

/// The loaded programs; attached or not.
pub struct FullTracer {
    programs: Ebpf,
    links: Vec<(&'static str, Link)>,
    sees_faults: bool,
    shared: Shared,
    ring: RingDrain,
}

enum Link {
    Raw(RawTracePointLinkId),
    Perf(PerfEventLinkId),
}

impl std::fmt::Debug for FullTracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FullTracer").field("attached", &self.links.len()).finish_non_exhaustive()
    }
}

impl FullTracer {
    /// Loads the programs, with a ring buffer of `ring` bytes (a power of two, a multiple of the page size).
    pub fn load(ring: u32) -> Result<FullTracer, AttachError> {
        check_namespace()?;
        let btf = Btf::from_sys_fs()?;
        let mut programs = EbpfLoader::new().btf(Some(&btf)).map_max_entries("EVENTS", ring).load(OBJECT)?;
        let session = array(&mut programs, "SESSION")?;
        let log = array(&mut programs, "RECORDS")?;
        let shared = Shared::map(session.fd().as_fd(), log.fd().as_fd(), &tables())
            .map_err(|e| AttachError::Map { map: "SESSION", cause: e.to_string() })?;
        let ring = RingBuf::try_from(taken(&mut programs, "EVENTS")?)
            .map_err(|e| AttachError::Map { map: "EVENTS", cause: e.to_string() })?;
        for name in NEEDED {
            raw(&mut programs, name)
                .and_then(RawTracePoint::load)
                .map_err(|cause| AttachError::Program { program: name, cause })?;
        }
        for name in OPTIONAL {
            // What the kernel does not have is merely not seen; `attached` tells.
            let _ = raw(&mut programs, name).and_then(RawTracePoint::load);
        }
        for (name, _) in HANDLED {
            let _ = perf(&mut programs, name).and_then(PerfEvent::load);
        }
        Ok(FullTracer {
            programs,
            links: Vec::new(),
            sees_faults: false,
            shared,
            ring: RingDrain::start(ring),
        })
    }

    /// Attaches the programs: from now on every task of the machine passes them.
    pub fn attach(&mut self) -> Result<(), AttachError> {
        if !self.links.is_empty() {
            return Ok(());
        }
        for name in NEEDED {
            let attached = raw(&mut self.programs, name).and_then(|program| program.attach(name));
            let link = attached.map_err(|cause| AttachError::Program { program: name, cause })?;
            self.links.push((name, Link::Raw(link)));
        }
        for name in OPTIONAL {
            if let Ok(link) = raw(&mut self.programs, name).and_then(|program| program.attach(name)) {
                self.links.push((name, Link::Raw(link)));
            }
        }
        for (name, event) in HANDLED {
            self.attach_everywhere(name, event);
        }
        let attached = self.attached();
        self.sees_faults =
            ["page_fault_user", "fault_minor", "fault_major"].iter().all(|name| attached.contains(name));
        Ok(())
    }

    /// A software event counts per processor.
    fn attach_everywhere(&mut self, name: &'static str, event: SoftwareEvent) {
        for cpu in online_cpus().unwrap_or_default() {
            let attached = perf(&mut self.programs, name).and_then(|program| {
                let scope = PerfEventScope::AllProcessesOneCpu { cpu };
                program.attach(PerfEventConfig::Software(event), scope, SamplePolicy::Period(1), false)
            });
            if let Ok(link) = attached {
                self.links.push((name, Link::Perf(link)));
            }
        }
    }

    /// Detaches them: the machine is as if we were not there.
    pub fn detach(&mut self) -> Result<(), AttachError> {
        for (name, link) in self.links.drain(..) {
            let detached = match link {
                Link::Raw(link) => raw(&mut self.programs, name).and_then(|program| program.detach(link)),
                Link::Perf(link) => perf(&mut self.programs, name).and_then(|program| program.detach(link)),
            };
            detached.map_err(|cause| AttachError::Program { program: name, cause })?;
        }
        Ok(())
    }

    /// The names of the programs that are attached, each once.
    pub fn attached(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.links.iter().map(|(name, _)| *name).collect();
        names.dedup();
        names
    }

    /// When last attached, page faults were seen from the taking to the end of the handling.
    pub fn sees_faults(&self) -> bool {
        self.sees_faults
    }

    /// What the programs cost an event, measured on a child of ours. Leaves them detached.
    pub fn calibrate(&mut self) -> Result<Option<EventCosts>, AttachError> {
        self.detach()?;
        let untraced = calibration::fastest_rounds();
        self.attach()?;
        // SAFETY: gettid has no arguments and no effects.
        let own_thread = unsafe { libc::gettid() }.cast_unsigned();
        // there is no exec to wait for
        self.shared.write(Session { armed_by: own_thread, exec_begun: 1, ..Session::default() });
        self.ring.watch(true);
        let traced = calibration::fastest_rounds();
        self.collect();
        self.detach()?;
        Ok(untraced.zip(traced).map(|(untraced, traced)| calibration::costs(untraced, traced)))
    }

    fn arm(&mut self, reopened: bool) {
        self.ring.take();
        // SAFETY: gettid has no arguments and no effects.
        let own_thread = unsafe { libc::gettid() }.cast_unsigned();
        let match_inode = u32::from(reopened);
        self.shared.write(Session { armed_by: own_thread, match_inode, ..Session::default() });
        self.ring.watch(true);
    }

    /// The events of the run since [`FullTracer::arm`], and how many were lost; the tracee must have been reaped.
    fn collect(&mut self) -> (Vec<Event>, u64) {
        self.ring.watch(false);
        let session = self.shared.read();
        let (mut events, mut lost) = (Vec::new(), session.lost);
        let spilled = self.ring.take();
        let logged = records(self.shared.log(&session));
        for record in logged.chain(spilled.iter().map(Vec::as_slice)) {
            match parse(record) {
                Some(event) => push(&mut events, event),
                None => lost += 1,
            }
        }
        self.shared.write(Session::default());
        events.sort_by_key(|event| event.at);
        (events, lost)
    }
}

/// An image is an exec's commit, too: for those who want phases alone.
fn push(events: &mut Vec<Event>, event: Event) {
    if let EventKind::Image(image) = &event.kind {
        let kind = EventKind::ExecCommit { path: image.path.clone() };
        events.push(Event { kind, ..event });
    }
    events.push(event);
}

impl Tracer for FullTracer {
    fn backend(&self) -> Backend {
        Backend::Bpf
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        let mut stdout = setting.stdout()?;
        self.arm(setting.output != OutputKind::Null);
        let child = launcher.launch(&mut stdout, Preparation::None);
        let ended = child.and_then(|child| {
            until_reaped(&child, &mut stdout, launcher.watch(), setting.timeout).map(|ended| (child, ended))
        });
        launcher.learn(&stdout);
        let (events, lost) = self.collect();
        let outlived = kill_survivors(&events);
        let (child, ended) = ended?;
        let mut recording = frame(Backend::Bpf, launcher, setting, &child, &ended, stdout.finish());
        recording.left_behind |= outlived;
        recording.lost = lost;
        recording.events.retain(|event| !matches!(event.kind, EventKind::FirstRead { .. }));
        recording.events.extend(events);
        recording.add_output_events();
        Ok(recording)
    }
}

fn tables() -> Tables {
    let (native, compat) = path_arguments();
    Tables { meaning: meaning::table(), paths: by_number(&native), compat_paths: by_number(&compat) }
}

/// As `paths` in `full.h`: 1 + the position of the first path, 16 times that of the second.
fn by_number(calls: &[(u32, [Option<u8>; 2])]) -> [u8; CALLS] {
    let mut table = [0; CALLS];
    for (number, [first, second]) in calls {
        let code = first.map_or(0, |position| position + 1) | second.map_or(0, |p| (p + 1) << 4);
        if let Some(entry) = table.get_mut(*number as usize) {
            *entry = code;
        }
    }
    table
}

fn array(programs: &mut Ebpf, name: &'static str) -> Result<MapData, AttachError> {
    match taken(programs, name)? {
        aya::maps::Map::Array(map) => Ok(map),
        _ => Err(AttachError::Map { map: name, cause: "not an array".to_owned() }),
    }
}

fn raw<'p>(programs: &'p mut Ebpf, name: &str) -> Result<&'p mut RawTracePoint, ProgramError> {
    programs.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
}

fn perf<'p>(programs: &'p mut Ebpf, name: &str) -> Result<&'p mut PerfEvent, ProgramError> {
    programs.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()
}
