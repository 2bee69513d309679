//! Follows the tracee's tree from stop to stop until nothing of it is left.
//!
//! The thread that follows does nothing else and has no children. It waits with `__WALL | __WNOTHREAD`, so that only
//! children and tracees of the calling thread are reported. So it never takes the status of another child of
//! this process from the thread that waits for it, and it sees daemons that leave the tracee's process group.

use super::files_of_run::{Files, FilesOfRun};
use super::full::{FullEvents, correct_killed_call};
use super::our_stdout::OurStdout;
use super::phases::PhaseEvents;
use super::reports::{Report, Reports, Waited};
use super::rescue::Rescue;
use super::restarts::Restarts;
use super::stop::Stop;
use super::stops::SampleStops;
use super::tally::Tally;
use super::task_tree::{Announced, Task, TaskTree, ask_family_of, is_further_thread};
use super::tracee::{CallStop, EnteredCall, RunUntil, TracedThread};
use super::watch::Standstill;
use super::watch_events::WatchEvents;
use crate::Counts;
use crate::arch::{CallRole, FileCall, call_roles, path_arguments};
use crate::launch::Usage;
use crate::tracer::Event;
use crate::tracer::awaited_mark::AwaitedMark;
use crate::tracer::event::WantedContents;
use crate::units::Nanos;
use std::fs;
use std::io;

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

/// Everything that was observed.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) events: Vec<Event>,
    pub(super) counts: Counts,
    pub(super) files: FilesOfRun,
    pub(super) status: i32,
    pub(super) reaped: Nanos,
    pub(super) usage: Usage,
    /// Other processes were still alive when the tracee had exited.
    pub(super) outlived: bool,
}

/// How the tracee ended.
struct End {
    status: i32,
    reaped: Nanos,
    usage: Usage,
}

/// How often everything is killed and resumed when a run does not end. After that it is abandoned.
const RESCUES: u32 = 20;

/// The state of one run.
pub(super) struct Follower<'r> {
    root: i32,
    tree: TaskTree,
    phases: PhaseEvents,
    tally: Option<Tally>,
    full: Option<FullEvents>,
    files: Option<Files>,
    watch: Option<WatchEvents>,
    sampler: Option<&'r mut dyn SampleStops>,
    restarts: Restarts,
    reports: Reports,
    standstill: &'r Standstill,
    rescue: &'r Rescue,
    /// Of all stops so far, in their order.
    events: Vec<Event>,
    end: Option<End>,
    outlived: bool,
}

impl<'r> Follower<'r> {
    /// For a tracee that has been seized and has not executed anything yet.
    pub(super) fn new(
        root: TracedThread,
        stdout: OurStdout,
        extent: Extent,
        standstill: &'r Standstill,
        rescue: &'r Rescue,
    ) -> Follower<'r> {
        let mut tree = TaskTree::default();
        tree.add(root.0, root.0);
        let counts = matches!(extent, Extent::Counts | Extent::Files);

        Follower {
            root: root.0,
            tree,
            phases: extent.phases(stdout),
            tally: counts.then(|| Tally::new(root.0)),
            full: match extent {
                Extent::Full(contents) => Some(FullEvents::new(contents)),
                _ => None,
            },
            files: (extent == Extent::Files).then(Files::default),
            watch: None,
            sampler: None,
            restarts: Restarts::default(),
            reports: Reports::about(root.0),
            standstill,
            rescue,
            events: Vec::with_capacity(64),
            end: None,
            outlived: false,
        }
    }

    /// For a watch: only programs that start and end are observed, and what outlives the command is left alone.
    pub(super) fn watching(mut self, watch: WatchEvents) -> Follower<'r> {
        self.phases = PhaseEvents::unkept();
        self.watch = Some(watch);
        self
    }

    /// For a run that ends at a mark.
    pub(super) fn await_mark(&mut self, awaited: Option<AwaitedMark>) {
        self.phases.awaits_mark(awaited);
    }

    /// For sampled runs.
    pub(super) fn sample(&mut self, sampler: Option<&'r mut dyn SampleStops>) {
        self.sampler = sampler;
    }

    /// Follows until nothing is left of the tree.
    ///
    /// # Errors
    ///
    /// The tracee's end was not seen: somebody else reaped it, it does not die when killed, or we may not wait for it.
    pub(super) fn follow(mut self) -> io::Result<Followed> {
        let mut rescues = 0;

        loop {
            match self.reports.next(self.tree.size()) {
                Waited::Reported(report) => {
                    self.answer(&report);
                    self.collect();
                }
                Waited::Over => break,
                Waited::Refused(cause) => {
                    end_all(&self.tree.everyone());
                    return Err(cause);
                }
                Waited::Interrupted if !self.rescue.is_asked() => {}
                // The kernel kills what is left when this thread ends (PTRACE_O_EXITKILL).
                Waited::Interrupted if rescues == RESCUES => return Err(io::Error::other("it has not died")),
                Waited::Interrupted => {
                    rescues += 1;
                    end_all(&self.tree.everyone());
                }
            }
        }

        let reaped_by_another = || io::Error::from_raw_os_error(libc::ECHILD);
        let End { status, reaped, usage } = self.end.ok_or_else(reaped_by_another)?;
        let writes = self.phases.writes();
        let counts = self.tally.map(|tally| tally.finish(writes)).unwrap_or_default();
        let mut events = self.events;
        events.extend(self.phases.into_last());
        events.extend(self.full.into_iter().flat_map(FullEvents::into_interrupted));
        let files = self.files.map(Files::finish).unwrap_or_default();
        Ok(Followed { events, counts, files, status, reaped, usage, outlived: self.outlived })
    }

    fn answer(&mut self, report: &Report) {
        let (tracee, stop) = (report.tracee, Stop::decode(report.status));
        let Some(process) = self.tree.process_of(tracee.0) else {
            return self.unannounced(tracee, stop, report.status);
        };

        let task = Task { process, thread: tracee.0 };
        if process == self.root && !matches!(stop, Stop::Group(_)) {
            self.standstill.set(0);
        }

        match stop {
            Stop::Gone => return self.gone(tracee, task, report),
            Stop::Group(signal) => return self.group_stop(tracee, process, signal),
            Stop::Signal(libc::SIGTRAP) if self.is_sample(tracee) => {
                if let Some(sampler) = &mut self.sampler {
                    sampler.sampled(report.at, task, tracee);
                }
            }
            Stop::Signal(signal) => {
                self.restarts.signalled(tracee.0, signal);
                if let Some(full) = &mut self.full {
                    full.signalled(report.at, task, signal);
                }
                return tracee.resume(self.resumed_until(tracee), signal);
            }
            Stop::Syscall | Stop::Seccomp => self.syscall(report.at, tracee, task),
            Stop::Exec => self.executed(report.at, tracee, task),
            Stop::Forked => self.forked(report.at, tracee, task),
            Stop::Exiting => self.exiting(report.at, tracee, task),
            Stop::Started => self.began(task),
        }

        tracee.resume(self.resumed_until(tracee), 0);
    }

    fn is_sample(&self, tracee: TracedThread) -> bool {
        self.sampler.is_some() && tracee.is_perf_trap()
    }

    /// A thread stopped first, or its group stop has ended.
    fn began(&mut self, task: Task) {
        if let Some(sampler) = &mut self.sampler {
            sampler.began(task);
        }
    }

    /// Takes the events of one stop. The clock may show the same instant at several stops, for example in a virtual
    /// machine that was paused. Their order is then known only from here.
    fn collect(&mut self) {
        self.phases.drain_into(&mut self.events);
        if let Some(full) = &mut self.full {
            full.drain_into(&mut self.events);
        }
    }

    /// A thread stopped that its creator has not announced yet.
    fn unannounced(&mut self, tracee: TracedThread, stop: Stop, status: i32) {
        match stop {
            Stop::Gone => self.tree.died_unannounced(tracee.0, status),
            // It was killed together with its creator, or by an exec of its process, which waits for its death.
            // Nobody may ever announce it.
            Stop::Exiting => tracee.resume(RunUntil::Event, 0),
            _ if self.end.is_some() && self.watch.is_none() => {
                self.outlived = true;
                end_all(&[tracee]);
            }
            _ => self.tree.hold(tracee),
        }
    }

    fn resumed_until(&self, tracee: TracedThread) -> RunUntil {
        let all = self.tally.is_some() || self.full.is_some();
        if all || self.phases.awaits(tracee.0) { RunUntil::Syscall } else { RunUntil::Event }
    }

    fn group_stop(&mut self, tracee: TracedThread, process: i32, signal: i32) {
        if process == self.root {
            self.standstill.set(signal);
        }
        tracee.listen();
    }

    fn syscall(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        match tracee.side() {
            Some(CallStop::Entry(entry)) => self.entered(tracee, task, &entry),
            Some(CallStop::Exit(result)) => {
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

    fn executed(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        let former = tracee.message().and_then(|id| i32::try_from(id).ok()).unwrap_or(tracee.0);
        if former != tracee.0 {
            self.tree.executed(task.process, former);
            self.orphans(task.process);
        }
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

    fn forked(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        let Some(child) = tracee.message().and_then(|id| i32::try_from(id).ok()) else { return };
        self.reports.remember(child);
        let process = if is_further_thread(child) { task.process } else { child };
        let announced = self.tree.announced(child);
        match announced {
            Announced::New => self.created(child, process),
            Announced::Known => {}
            Announced::Dead(_) => self.counted(child, process),
        }
        let born = Task { process, thread: child };
        self.phases.forked(at, task, born);
        if let Some(watch) = &mut self.watch {
            watch.forked(at, task, born);
        }
        if let Announced::Dead(status) = announced {
            if let Some(watch) = &mut self.watch {
                watch.gone(at, born, status);
            }
            self.phases.exiting(at, born, process == child, status);
        }
        if let Some(sampler) = &mut self.sampler
            && process == child
        {
            sampler.forked(task.process, child);
        }
        if let Some(held) = self.tree.release(child) {
            self.began(born);
            held.resume(self.resumed_until(held), 0);
        }
    }

    fn created(&mut self, thread: i32, process: i32) {
        self.tree.add(thread, process);
        self.counted(thread, process);
    }

    fn counted(&mut self, thread: i32, process: i32) {
        if let Some(tally) = &mut self.tally {
            tally.created(thread == process);
        }
    }

    fn exiting(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        let group_dead = self.tree.exiting(task.thread);
        let status = tracee.message().and_then(|status| i32::try_from(status).ok()).unwrap_or_default();
        if let Some(tally) = &mut self.tally {
            tally.exiting(task, group_dead);
        }
        if let Some(full) = &mut self.full {
            full.exiting(task);
            if libc::WTERMSIG(status) == libc::SIGSYS {
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

    fn gone(&mut self, tracee: TracedThread, task: Task, report: &Report) {
        if !self.tree.is_exiting(tracee.0) {
            // It was killed in a way that allowed no further stop.
            let group_dead = self.tree.exiting(tracee.0);
            self.phases.exiting(report.at, task, group_dead, report.status);
        }
        self.tree.gone(tracee.0);
        if let Some(sampler) = &mut self.sampler {
            sampler.gone(task);
        }
        self.orphans(task.process);
        if let Some(watch) = &mut self.watch {
            watch.gone(report.at, task, report.status);
        }
        if tracee.0 == self.root {
            self.phases.dead(report.at, task);
            let usage = Usage::from_kernel(&report.usage);
            self.end = Some(End { status: report.status, reaped: report.at, usage });
            if self.watch.is_none() {
                self.kill_survivors();
            }
        }
    }

    /// A thread of `process` is gone. If it was killed after it created a process and before it could announce that
    /// process, nobody ever will. Such a process has `process`, or none that we know, as its parent. New threads
    /// need no such care: whatever kills their creator kills them too, and a thread that is about to exit is no
    /// longer held (see `unannounced`).
    fn orphans(&mut self, process: i32) {
        let is_orphan = |tree: &TaskTree, held: i32| {
            ask_family_of(held).is_some_and(|(group, parent)| {
                group == held && (parent == process || !tree.has_process(parent))
            })
        };
        for held in self.tree.adopt(is_orphan) {
            self.created(held.0, held.0);
            if let Some(sampler) = &mut self.sampler {
                sampler.adopted(held.0);
            }
            self.began(Task { process: held.0, thread: held.0 });
            held.resume(self.resumed_until(held), 0);
        }
    }

    fn kill_survivors(&mut self) {
        for survivor in self.tree.living_processes() {
            self.outlived = true;
            survivor.kill();
        }
        let held = self.tree.held();
        self.outlived |= !held.is_empty();
        end_all(&held); // their creators are being killed and will not announce them
    }
}

/// Kills them, and resumes those that are stopped, so that they die.
fn end_all(tracees: &[TracedThread]) {
    for tracee in tracees {
        tracee.kill();
        tracee.resume(RunUntil::Event, 0);
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
        let (standstill, rescue) = (Standstill::default(), Rescue::default());
        let root = TracedThread(std::process::id().cast_signed()); // untraced, so that every request is refused
        let mut follower = Follower::new(
            root,
            OurStdout::Unknown,
            Extent::Full(WantedContents::default()),
            &standstill,
            &rescue,
        );
        let task = Task { process: root.0, thread: root.0 };
        let number = u32::try_from(libc::SYS_execve).unwrap();
        let entry = EnteredCall { call: Syscall { abi: Abi::Native, number }, arguments: [0; 6] };

        follower.entered(root, task, &entry);
        follower.collect();
        let at = follower.events[0].at;
        follower.executed(at, root, task);
        follower.collect();
        follower.phases.returned(at, task, 0);
        follower.collect();

        let mut events = follower.events;
        events.sort_by_key(|event| event.at);
        let [first, second, third, fourth] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(first.kind, EventKind::ExecEnter);
        assert!(matches!(second.kind, EventKind::ExecCommit { .. }));
        assert!(matches!(third.kind, EventKind::Image(_)));
        assert_eq!(fourth.kind, EventKind::ExecExit { result: 0 });
    }
}
