//! Follows the tracee's tree from stop to stop until nothing of it is left.
//!
//! The thread that follows does nothing else and has no children. It waits with `__WALL | __WNOTHREAD`, so that only
//! children and tracees of the calling thread are reported. So it never takes the status of another child of
//! this process from the thread that waits for it, and it sees daemons that leave the tracee's process group.

use super::files_of_run::FilesOfRun;
use super::observers::{Extent, Observers};
use super::our_stdout::OurStdout;
use super::reports::{Report, Reports, Waited};
use super::rescue::Rescue;
use super::stop::Stop;
use super::stops::SampleStops;
use super::task_tree::{Announced, Task, TaskTree, ask_family_of, is_further_thread};
use super::tracee::{RunUntil, TracedThread};
use super::watch::Standstill;
use super::watch_events::WatchEvents;
use crate::Counts;
use crate::launch::Usage;
use crate::tracer::Event;
use crate::tracer::awaited_mark::AwaitedMark;
use crate::units::Nanos;
use std::io;

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
    observers: Observers<'r>,
    reports: Reports,
    standstill: &'r Standstill,
    rescue: &'r Rescue,
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

        Follower {
            root: root.0,
            tree,
            observers: Observers::new(root.0, stdout, extent),
            reports: Reports::about(root.0),
            standstill,
            rescue,
            end: None,
            outlived: false,
        }
    }

    /// For a watch: only programs that start and end are observed, and what outlives the command is left alone.
    pub(super) fn watching(mut self, watch: WatchEvents) -> Follower<'r> {
        self.observers.watch(watch);
        self
    }

    /// For a run that ends at a mark.
    pub(super) fn await_mark(&mut self, awaited: Option<AwaitedMark>) {
        self.observers.await_mark(awaited);
    }

    /// For sampled runs.
    pub(super) fn sample(&mut self, sampler: Option<&'r mut dyn SampleStops>) {
        self.observers.sample(sampler);
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
                    self.observers.collect();
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
        let (events, counts, files) = self.observers.finish();
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
            Stop::Signal(libc::SIGTRAP) if self.observers.is_sample(tracee) => {
                self.observers.sampled(report.at, tracee, task);
            }
            Stop::Signal(signal) => {
                self.observers.signalled(report.at, task, signal);
                return tracee.resume(self.observers.resumed_until(tracee), signal);
            }
            Stop::Syscall | Stop::Seccomp => self.observers.syscall(report.at, tracee, task),
            Stop::Exec => self.executed(report.at, tracee, task),
            Stop::Forked => self.forked(report.at, tracee, task),
            Stop::Exiting => self.exiting(report.at, tracee, task),
            Stop::Started => self.observers.began(task),
        }

        tracee.resume(self.observers.resumed_until(tracee), 0);
    }

    /// A thread stopped that its creator has not announced yet.
    fn unannounced(&mut self, tracee: TracedThread, stop: Stop, status: i32) {
        match stop {
            Stop::Gone => self.tree.died_unannounced(tracee.0, status),
            // It was killed together with its creator, or by an exec of its process, which waits for its death.
            // Nobody may ever announce it.
            Stop::Exiting => tracee.resume(RunUntil::Event, 0),
            _ if self.end.is_some() && !self.observers.is_watch() => {
                self.outlived = true;
                end_all(&[tracee]);
            }
            _ => self.tree.hold(tracee),
        }
    }

    fn group_stop(&mut self, tracee: TracedThread, process: i32, signal: i32) {
        if process == self.root {
            self.standstill.set(signal);
        }
        tracee.listen();
    }

    fn executed(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        let former = tracee.message().and_then(|id| i32::try_from(id).ok()).unwrap_or(tracee.0);
        if former != tracee.0 {
            self.tree.executed(task.process, former);
            self.orphans(task.process);
        }
        self.observers.executed(at, task, former);
    }

    fn forked(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        let Some(child) = tracee.message().and_then(|id| i32::try_from(id).ok()) else { return };
        self.reports.remember(child);
        let process = if is_further_thread(child) { task.process } else { child };
        let born = Task { process, thread: child };
        let announced = self.tree.announced(child);
        if announced == Announced::New {
            self.tree.add(child, process);
        }
        if announced != Announced::Known {
            self.observers.created(born);
        }
        self.observers.forked(at, task, born);
        if let Announced::Dead(status) = announced {
            self.observers.gone_unannounced(at, born, status);
        }
        if let Some(held) = self.tree.release(child) {
            self.observers.began(born);
            held.resume(self.observers.resumed_until(held), 0);
        }
    }

    fn exiting(&mut self, at: Nanos, tracee: TracedThread, task: Task) {
        let group_dead = self.tree.exiting(task.thread);
        let status = tracee.message().and_then(|status| i32::try_from(status).ok()).unwrap_or_default();
        self.observers.exiting(at, task, group_dead, status);
    }

    fn gone(&mut self, tracee: TracedThread, task: Task, report: &Report) {
        if !self.tree.is_exiting(tracee.0) {
            // It was killed in a way that allowed no further stop.
            let group_dead = self.tree.exiting(tracee.0);
            self.observers.killed(report.at, task, group_dead, report.status);
        }
        self.tree.gone(tracee.0);
        self.observers.gone(report.at, task, report.status);
        self.orphans(task.process);
        if tracee.0 == self.root {
            self.observers.root_gone(report.at, task);
            let usage = Usage::from_kernel(&report.usage);
            self.end = Some(End { status: report.status, reaped: report.at, usage });
            if !self.observers.is_watch() {
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
            self.tree.add(held.0, held.0);
            self.observers.adopted(held.0);
            held.resume(self.observers.resumed_until(held), 0);
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
