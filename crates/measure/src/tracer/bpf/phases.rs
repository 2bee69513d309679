//! Attaches the phases programs and observes runs with them.

use super::attach::{
    AttachError, Loading, Object, judged, loaded, raw_tracepoint, refused, taken, without_uring,
};
use super::family::Family;
use super::ids::Ids;
use super::meaning_table;
use super::namespace::Namespace;
use super::phases_session::{PhasesPage, PhasesSession, parse};
use super::ring_drain::{Listener, RingDrain};
use super::shared_run::{Run, observed_run};
use super::skipped::{Skipped, programs_may_be_skipped, with_twin};
use super::survivors::kill_survivors;
use crate::launch::{LaunchError, Launcher, tree};
use crate::tracer::awaited_mark::AwaitedMark;
use crate::tracer::{Backend, ChooseError, Event, EventKind, Recording, RunOptions, Tracer, frame};
use crate::units::Nanos;
use aya::Ebpf;
use aya::maps::RingBuf;
use aya::programs::raw_trace_point::RawTracePointLinkId;
use std::os::fd::AsFd;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/phases.bpf.o"));
static BEFORE_5_12: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/phases-before-5.12.bpf.o"));

/// The programs that the phases need.
const NEEDED: [&str; 6] = [
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "signal_generate",
    "sys_enter",
    "sys_exit",
];
/// The programs whose tracepoints not every kernel has (`sched_prepare_exec`: Linux 6.10). Those of `io_uring` cost
/// nothing unless a program uses it.
const OPTIONAL: [&str; 3] = ["sched_prepare_exec", "io_uring_submit_req", "io_uring_complete"];

/// The former name of a tracepoint. `io_uring_submit_req` has its name since Linux 6.3.
pub(super) fn former_name(name: &'static str) -> &'static str {
    if name == "io_uring_submit_req" { "io_uring_submit_sqe" } else { name }
}

/// The default size of the ring buffer, in bytes.
pub const DEFAULT_RING: u32 = 4 << 20;

/// The loaded programs, attached or not.
pub struct BpfPhases {
    programs: Ebpf,
    links: Vec<(&'static str, RawTracePointLinkId)>,
    object: Object,
    without_uring: Option<&'static str>,
    session: PhasesPage,
    /// The programs look for marks.
    marks: bool,
    ring: RingDrain,
    family: Family,
    namespace: Namespace,
    skipped: Skipped,
}

/// The results of the kernel side for one run.
struct Observed {
    events: Vec<Event>,
    ids: Ids,
    session: PhasesSession,
    lost: u64,
    /// Whether a process outlived the tracee. The error names one that could not be killed.
    outlived: Result<bool, LaunchError>,
}

impl std::fmt::Debug for BpfPhases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BpfPhases").field("attached", &self.links.len()).finish_non_exhaustive()
    }
}

impl BpfPhases {
    /// Loads the programs, with a ring buffer of `ring` bytes (a power of two, a multiple of the page size).
    pub fn load(ring: u32) -> Result<BpfPhases, AttachError> {
        loaded(
            |object| if object == Object::Current { OBJECT } else { BEFORE_5_12 },
            ring,
            BpfPhases::prepared,
        )
    }

    fn prepared(loading: Loading<'_>, mut programs: Ebpf) -> Result<BpfPhases, AttachError> {
        let Loading { object, ring, namespace, .. } = loading;
        let map = |name: &'static str| move |cause: String| AttachError::Map { map: name, cause };
        let aya::maps::Map::Array(page) = taken(&mut programs, "SESSION")? else {
            return Err(map("SESSION")("not an array".to_owned()));
        };
        let session = PhasesPage::map(page.fd().as_fd(), &meaning_table::table())
            .map_err(|e| map("SESSION")(e.to_string()))?;
        let events =
            RingBuf::try_from(taken(&mut programs, "EVENTS")?).map_err(|e| map("EVENTS")(e.to_string()))?;
        let family = Family::of(&mut programs)?;

        for name in NEEDED.into_iter().flat_map(|name| with_twin(name, object)) {
            let program = raw_tracepoint(&mut programs, name)?;
            judged(|| program.load()).map_err(|cause| refused(name, cause))?;
        }
        for name in OPTIONAL {
            // A kernel without the tracepoint still loads the program. If it does not, only one instant is missing.
            let program = raw_tracepoint(&mut programs, name)?;
            let _ = judged(|| program.load());
        }
        let ring = RingDrain::start(events, ring);
        let (links, skipped) = (Vec::new(), Skipped::since_now(&programs));
        Ok(BpfPhases {
            programs,
            links,
            object,
            without_uring: None,
            session,
            marks: false,
            ring,
            family,
            namespace,
            skipped,
        })
    }

    /// Attaches the programs to their tracepoints. From now on every task of the machine runs them.
    pub fn attach(&mut self) -> Result<(), AttachError> {
        for name in NEEDED {
            for program in with_twin(name, self.object) {
                let loaded = raw_tracepoint(&mut self.programs, program)?;
                let link = loaded.attach(name).map_err(|cause| refused(program, cause))?;
                self.links.push((program, link));
            }
        }
        for name in OPTIONAL {
            let program = raw_tracepoint(&mut self.programs, name)?;
            if let Ok(link) = program.attach(name).or_else(|_| program.attach(former_name(name))) {
                self.links.push((name, link));
            }
        }
        self.without_uring = without_uring(&self.attached());
        Ok(())
    }

    /// Detaches them, so that they affect no task of the machine any more.
    pub fn detach(&mut self) -> Result<(), AttachError> {
        for (name, link) in self.links.drain(..) {
            raw_tracepoint(&mut self.programs, name)?.detach(link).map_err(|cause| refused(name, cause))?;
        }
        Ok(())
    }

    /// Whether the programs look at the calls among which marks are.
    fn look_for_marks(&mut self, wanted: bool) {
        if wanted != self.marks {
            self.marks = wanted;
            let table = meaning_table::table();
            let meaning = if wanted { meaning_table::with_lookups(table) } else { table };
            self.session.give_meaning(&meaning);
        }
    }

    /// The next process that the calling thread creates is the tracee. `reopened`: also counts output that reaches the
    /// stdout's inode through another open file (wrong for a null device, which all processes share).
    fn arm(&mut self, reopened: bool) {
        self.ring.take();
        if programs_may_be_skipped() {
            self.skipped = Skipped::since_now(&self.programs);
        }
        let run = Run::armed(self.namespace, reopened);
        self.session.write(PhasesSession { run, ..PhasesSession::default() });
        self.ring.watch(true);
    }

    /// The results of the run since [`BpfPhases::arm`]. The tracee must have been reaped. Processes that it left running
    /// are killed while the kernel side still follows them, so no entry of its tables outlives the run. `childless`: we have no
    /// children.
    fn collect(&mut self, childless: bool) -> Observed {
        self.ring.watch(false);
        let session = self.session.read();
        let outlived = self.kill_survivors(&session.run);
        let mut observed = Observed { events: Vec::new(), ids: Ids::default(), session, lost: 0, outlived };

        let left = self.session.read();
        self.gather(left.logged, &mut observed);
        observed.lost += left.run.lost;
        if programs_may_be_skipped() {
            observed.lost += self.skipped.read(&self.programs);
        }
        self.session.write(PhasesSession::default());
        if left.run.others != 0 {
            self.family.forget(left.run.root);
        }

        // Orphans are ours, also those that are dead, and those whose events were lost.
        let adopted = if childless { Ok(()) } else { tree::kill_adopted() };
        observed.outlived = observed.outlived.and_then(|lived| adopted.map(|()| lived));
        observed
    }

    fn kill_survivors(&self, run: &Run) -> Result<bool, LaunchError> {
        if run.others <= 0 {
            return Ok(false);
        }
        kill_survivors(|| self.family.living(run.root))
    }

    /// Takes over all records: those in the page, and those that did not fit it.
    fn gather(&mut self, logged: u32, observed: &mut Observed) {
        for record in self.session.log(logged) {
            observed.ids.learn(&record);
            observed.events.extend(parse(&record));
        }
        for record in self.ring.take() {
            observed.ids.learn(&record);
            match parse(&record) {
                Some(event) => observed.events.push(event),
                None => observed.lost += 1,
            }
        }
    }

    /// How this kernel made the programs observe differently from a current one when they were last attached, one clause
    /// each.
    pub fn remarks(&self) -> Vec<&'static str> {
        self.object.remark().into_iter().chain(self.without_uring).collect()
    }

    /// The names of the programs that are attached.
    pub fn attached(&self) -> Vec<&'static str> {
        self.links.iter().map(|(name, _)| *name).collect()
    }
}

impl Tracer for BpfPhases {
    fn backend(&self) -> Backend {
        Backend::Bpf
    }

    fn attach(&mut self) -> Result<(), ChooseError> {
        BpfPhases::attach(self).map_err(|error| ChooseError::Switch(error.to_string()))
    }

    fn detach(&mut self) -> Result<(), ChooseError> {
        BpfPhases::detach(self).map_err(|error| ChooseError::Switch(error.to_string()))
    }

    /// Where tasks are not preempted in our programs, nothing is skipped unless a program interrupts itself. So this is
    /// read once for a series: a reading in each run would need half as many calls as all else that a run costs us.
    fn missed(&mut self) -> u64 {
        if programs_may_be_skipped() { 0 } else { self.skipped.read(&self.programs) }
    }

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        let mut stdout = options.marked_stdout()?;
        let awaited = AwaitedMark::of(options, &stdout);
        self.look_for_marks(options.marks || awaited.is_some());
        self.ring.listen(awaited.map(listener));
        self.arm(options.output.is_read());
        let ended = observed_run(launcher, &mut stdout, options.timeout);
        let childless = ended.as_ref().is_ok_and(|(_, ended)| ended.childless);
        let Observed { mut events, ids, session, lost, outlived } = self.collect(childless);
        let (child, ended) = ended?;
        let mut recording = frame(Backend::Bpf, launcher, options, &child, &ended, stdout.finish());
        recording.left_behind |= outlived?;
        recording.lost = lost + ids.translate(&mut events, &session.run, recording.root);
        add_events(&mut recording, events, &session);
        Ok(recording)
    }
}

/// Hears of the mark that ends the run.
fn listener(awaited: AwaitedMark) -> Listener {
    Box::new(move |record| {
        if let Some(Event { at, kind: EventKind::Mark(path), .. }) = parse(record) {
            awaited.looked_up(&path.bytes, at);
        }
        true
    })
}

/// Merges the kernel's events with ours, sorted by time.
fn add_events(recording: &mut Recording, events: Vec<Event>, session: &PhasesSession) {
    let PhasesSession { last_output, output_writes: writes, output_bytes: bytes, .. } = *session;
    recording.events.retain(|event| !matches!(event.kind, EventKind::FirstRead { .. }));
    recording.events.extend(events);
    name_first_exec(recording);
    if session.parent_told > 0 {
        let (pid, at) = (recording.root, Nanos(session.parent_told));
        recording.events.push(Event { at, pid, tid: pid, kind: EventKind::ParentTold });
    }
    if writes > 0 {
        let kind = EventKind::OutputLast { writes, bytes };
        recording.events.push(Event { at: Nanos(last_output), pid: 0, tid: 0, kind });
    }
    recording.events.sort_by_key(|event| event.at); // stable: equal instants keep the ring's order
}

/// The kernel side does not read the path of the first exec, which we know.
fn name_first_exec(recording: &mut Recording) {
    let program = recording.command.first().cloned().unwrap_or_default();
    let first = recording.events.iter_mut().find_map(|event| match &mut event.kind {
        EventKind::ExecCommit { path } if path.is_empty() => Some(path),
        _ => None,
    });
    if let Some(path) = first {
        *path = program;
    }
}

#[cfg(test)]
mod tests {
    use super::super::skipped;
    use super::*;

    #[test]
    fn a_twin_records_what_the_first_program_did_not_see() {
        let load = || BpfPhases::load(DEFAULT_RING).and_then(|mut tracer| tracer.attach().map(|()| tracer));
        skipped::twins::agree(load, |tracer, names| {
            let (first, others) = tracer.links.drain(..).partition(|(name, _)| names.contains(name));
            tracer.links = first;
            tracer.detach().unwrap();
            tracer.links = others;
        });
    }
}
