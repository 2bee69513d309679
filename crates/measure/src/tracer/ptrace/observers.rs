//! Those who hear of every stop of a run: what bounds its phases is always observed, the rest if it was asked for.

use super::files_of_run::{Files, FilesOfRun};
use super::full::{FullEvents, correct_killed_call};
use super::our_stdout::OurStdout;
use super::phases::PhaseEvents;
use super::restarts::Restarts;
use super::stops::SampleStops;
use super::tally::Tally;
use super::task_tree::Task;
use super::tracee::{CallStop, EnteredCall, RunUntil, TracedThread};
use super::watch_events::WatchEvents;
use crate::Counts;
use crate::arch::{CallRole, FileCall, call_roles, path_arguments};
use crate::tracer::Event;
use crate::tracer::awaited_mark::AwaitedMark;
use crate::tracer::event::WantedContents;
use crate::units::Nanos;
use std::fs;

/// How much of a run is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The events that bound the phases, and marks if they are wanted.
    Phases { marks: bool },
    /// Every system call, to count them.
    Counts,
    /// The same, and the files that the run uses.
    Files,
    /// Every system call with its arguments, and these contents of buffers.
    Full(WantedContents),
    /// What a sampler hears, and no system call unless marks are wanted.
    Samples { marks: bool },
}

impl Extent {
    fn has_marks(self) -> bool {
        matches!(self, Extent::Phases { marks: true } | Extent::Samples { marks: true })
    }

    fn phases(self, stdout: OurStdout) -> PhaseEvents {
        match self {
            Extent::Samples { marks: false } => PhaseEvents::unkept(),
            _ => PhaseEvents::new(stdout, self.has_marks()),
        }
    }
}

/// The observers of one run.
pub(super) struct Observers<'r> {
    phases: PhaseEvents,
    tally: Option<Tally>,
    full: Option<FullEvents>,
    files: Option<Files>,
    watch: Option<WatchEvents>,
    sampler: Option<&'r mut dyn SampleStops>,
    restarts: Restarts,
    /// Of all stops so far, in their order.
    events: Vec<Event>,
}

impl<'r> Observers<'r> {
    pub(super) fn new(root: i32, stdout: OurStdout, extent: Extent) -> Observers<'r> {
        let counts = matches!(extent, Extent::Counts | Extent::Files);

        Observers {
            phases: extent.phases(stdout),
            tally: counts.then(|| Tally::new(root)),
            full: match extent {
                Extent::Full(contents) => Some(FullEvents::new(contents)),
                _ => None,
            },
            files: (extent == Extent::Files).then(Files::default),
            watch: None,
            sampler: None,
            restarts: Restarts::default(),
            events: Vec::with_capacity(64),
        }
    }

    /// Observes only programs that start and end.
    pub(super) fn watch(&mut self, watch: WatchEvents) {
        self.phases = PhaseEvents::unkept();
        self.watch = Some(watch);
    }

    pub(super) fn is_watch(&self) -> bool {
        self.watch.is_some()
    }

    /// For a run that ends at a mark.
    pub(super) fn await_mark(&mut self, awaited: Option<AwaitedMark>) {
        self.phases.awaits_mark(awaited);
    }

    /// For sampled runs.
    pub(super) fn sample(&mut self, sampler: Option<&'r mut dyn SampleStops>) {
        self.sampler = sampler;
    }

    /// The stop at which one of them wants to hear of a thread again.
    pub(super) fn resumed_until(&self, thread: TracedThread) -> RunUntil {
        let all = self.tally.is_some() || self.full.is_some();
        if all || self.phases.awaits(thread.0) { RunUntil::Syscall } else { RunUntil::Event }
    }

    /// Takes the events of one stop. The clock may show the same instant at several stops, for example in a virtual
    /// machine that was paused. Their order is then known only from here.
    pub(super) fn collect(&mut self) {
        self.phases.drain_into(&mut self.events);
        if let Some(full) = &mut self.full {
            full.drain_into(&mut self.events);
        }
    }

    /// A thread stopped first, or its group stop has ended.
    pub(super) fn began(&mut self, task: Task) {
        if let Some(sampler) = &mut self.sampler {
            sampler.began(task);
        }
    }

    pub(super) fn is_sample(&self, tracee: TracedThread) -> bool {
        self.sampler.is_some() && tracee.is_perf_trap()
    }

    pub(super) fn sampled(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        if let Some(sampler) = &mut self.sampler {
            sampler.sampled(at, task, tracee);
        }
    }

    pub(super) fn signalled(&mut self, at: Nanos, task: Task, signal: i32) {
        self.restarts.signalled(task.thread, signal);
        if let Some(full) = &mut self.full {
            full.signalled(at, task, signal);
        }
    }

    pub(super) fn syscall(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        match tracee.side() {
            Some(CallStop::Entry(entry)) => self.entered(tracee, task, &entry),
            Some(CallStop::Exit(result)) => self.returned(at, tracee, task, result),
            None => {}
        }
    }

    fn entered(&mut self, tracee: TracedThread, task: Task, entry: &EnteredCall) {
        let continues = self.restarts.continues(tracee.0);
        if let Some(tally) = &mut self.tally {
            let is_exec = call_roles().get(entry.call) == Some(CallRole::Exec);
            tally.entered(task, entry.call, is_exec, continues);
        }
        if let Some(watch) = &mut self.watch {
            watch.entered(task, exec_path(tracee, entry));
        }
        let silent = self.tally.is_some() || self.watch.is_some();
        if let Some(full) = &mut self.full {
            full.entered(tracee, task, entry, continues);
        }
        self.phases.entered(task, entry, || if silent { String::new() } else { exec_path(tracee, entry) });
    }

    fn returned(&mut self, at: Nanos, tracee: TracedThread, task: Task, result: i64) {
        self.restarts.returned(tracee.0, result);
        let did = self.tally.as_mut().and_then(|tally| tally.returned(task, result));
        match (&mut self.files, did) {
            (Some(files), Some(FileCall::Open)) => files.opened(task, result),
            (Some(files), Some(FileCall::Ring)) => files.has_ring(task),
            _ => {}
        }
        if let Some(full) = &mut self.full {
            full.returned(at, tracee, task, result);
        }
        if let Some(watch) = &mut self.watch {
            watch.returned(at, task, result);
        }
        self.phases.returned(at, task, result);
    }

    /// `former` is the thread that executed the program, whose id is now that of its process.
    pub(super) fn executed(&mut self, at: Nanos, task: Task, former: i32) {
        self.phases.committed(at, task, former);
        if let Some(watch) = &mut self.watch {
            watch.executed(at, task, former);
        }
        if let Some(full) = &mut self.full {
            full.executed(at, task, former);
        }
        if let Some(tally) = &mut self.tally {
            tally.executed(task, former);
        }
        if let Some(files) = &mut self.files {
            files.executed(task);
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.executed(task);
        }
    }

    /// A thread or process is there that was not counted yet.
    pub(super) fn created(&mut self, task: Task) {
        if let Some(tally) = &mut self.tally {
            tally.created(task.thread == task.process);
        }
    }

    /// A new task was announced.
    pub(super) fn forked(&mut self, at: Nanos, creator: Task, born: Task) {
        self.phases.forked(at, creator, born);
        if let Some(watch) = &mut self.watch {
            watch.forked(at, creator, born);
        }
        if let Some(sampler) = &mut self.sampler
            && born.process == born.thread
        {
            sampler.forked(creator.process, born.process);
        }
    }

    /// A process is followed that its creator will never announce.
    pub(super) fn adopted(&mut self, process: i32) {
        let task = Task { process, thread: process };
        self.created(task);
        if let Some(sampler) = &mut self.sampler {
            sampler.adopted(process);
        }
        self.began(task);
    }

    pub(super) fn exiting(&mut self, at: Nanos, task: Task, group_dead: bool, status: i32) {
        if let Some(tally) = &mut self.tally {
            tally.exiting(task, group_dead);
        }
        if let Some(full) = &mut self.full {
            full.exiting(task);
            if libc::WTERMSIG(status) == libc::SIGSYS && full.was_killed_in_call(task.thread) {
                correct_killed_call(&mut self.events, task.thread);
            }
        }
        if let Some(files) = &mut self.files {
            files.mapped(task);
        }
        if let Some(watch) = &mut self.watch {
            watch.exiting(task, group_dead);
        }
        self.phases.exiting(at, task, group_dead, status);
    }

    /// A task was killed in a way that allowed no stop at its exit.
    pub(super) fn killed(&mut self, at: Nanos, task: Task, group_dead: bool, status: i32) {
        self.phases.exiting(at, task, group_dead, status);
    }

    pub(super) fn gone(&mut self, at: Nanos, task: Task, status: i32) {
        if let Some(sampler) = &mut self.sampler {
            sampler.gone(task);
        }
        if let Some(watch) = &mut self.watch {
            watch.gone(at, task, status);
        }
    }

    /// A new task is gone that its creator announces only now.
    pub(super) fn gone_unannounced(&mut self, at: Nanos, task: Task, status: i32) {
        if let Some(watch) = &mut self.watch {
            watch.gone(at, task, status);
        }
        self.phases.exiting(at, task, task.process == task.thread, status);
    }

    /// The first process of the run was reaped.
    pub(super) fn root_gone(&mut self, at: Nanos, task: Task) {
        self.phases.dead(at, task);
    }

    /// Everything that was observed.
    pub(super) fn finish(self) -> (Vec<Event>, Counts, FilesOfRun) {
        let writes = self.phases.writes();
        let counts = self.tally.map(|tally| tally.finish(writes)).unwrap_or_default();
        let mut events = self.events;
        events.extend(self.phases.into_last());
        events.extend(self.full.into_iter().flat_map(FullEvents::into_interrupted));
        (events, counts, self.files.map(Files::finish).unwrap_or_default())
    }
}

/// The path that an exec names. If it names only a descriptor, the file behind it.
fn exec_path(tracee: TracedThread, entry: &EnteredCall) -> String {
    let position = path_arguments().get(entry.call).and_then(|[first, _]| first).unwrap_or(0);
    let at_descriptor = position > 0; // `execveat`
    let mut room = [0; 256];
    let read = tracee.read_memory(entry.arguments[usize::from(position)], &mut room);
    let path = room[..read].split(|byte| *byte == 0).next().unwrap_or_default();
    if path.is_empty() && at_descriptor {
        let link = fs::read_link(format!("/proc/{}/fd/{}", tracee.0, entry.arguments[0]));
        return link.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    }
    String::from_utf8_lossy(path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Abi, Syscall};
    use crate::tracer::EventKind;

    /// The kernel's monotonic clock may stand still in a virtual machine that was paused.
    #[test]
    fn events_of_one_instant_are_in_the_order_of_the_stops() {
        let root = TracedThread(std::process::id().cast_signed()); // untraced, so that every request is refused
        let extent = Extent::Full(WantedContents::default());
        let mut observers = Observers::new(root.0, OurStdout::Unknown, extent);
        let task = Task { process: root.0, thread: root.0 };
        let number = u32::try_from(libc::SYS_execve).unwrap();
        let entry = EnteredCall { call: Syscall { abi: Abi::Native, number }, arguments: [0; 6] };

        observers.entered(root, task, &entry);
        observers.collect();
        let at = observers.events[0].at;
        observers.executed(at, task, root.0);
        observers.collect();
        observers.phases.returned(at, task, 0);
        observers.collect();

        let mut events = observers.events;
        events.sort_by_key(|event| event.at);
        let [first, second, third, fourth] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(first.kind, EventKind::ExecEnter);
        assert!(matches!(second.kind, EventKind::ExecCommit { .. }));
        assert!(matches!(third.kind, EventKind::Image(_)));
        assert_eq!(fourth.kind, EventKind::ExecExit { result: 0 });
    }
}
