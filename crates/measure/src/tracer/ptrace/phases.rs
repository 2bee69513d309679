//! Turns stops into the events that bound the phases, in the vocabulary that all backends share.
//!
//! The entry of a call is stamped just before the tracee may enter it, its return as soon as we learn of it. So our
//! own work at a stop is outside the call.

use super::full::path;
use super::our_stdout::OurStdout;
use super::task_tree::Task;
use super::tracee::{EnteredCall, TracedThread};
use crate::arch::{CallRole, IO_URING_SETUP, Syscall, call_roles, lookups};
use crate::clock;
use crate::tracer::awaited_mark::AwaitedMark;
use crate::tracer::event::{Content, MarkPath};
use crate::tracer::{Event, EventKind};
use crate::units::Nanos;
use std::collections::HashMap;

/// Collects the events of one run.
#[derive(Debug)]
pub(super) struct PhaseEvents {
    stdout: OurStdout,
    events: Vec<Event>,
    /// Calls whose return matters, by thread.
    flights: HashMap<i32, Flight>,
    /// The first exec has returned, so writes are output from now on.
    executed: bool,
    output: Written,
    /// The events are wanted.
    is_kept: bool,
    /// Marks are wanted.
    marks: bool,
    /// The one that ends the run.
    awaited: Option<AwaitedMark>,
}

/// A call in progress whose return matters.
#[derive(Clone, Debug)]
struct Flight {
    entered: Nanos,
    call: Syscall,
    does: Does,
}

/// What the call in progress does.
#[derive(Clone, Debug)]
enum Does {
    /// It executes this file.
    Executes(String),
    /// It looks up this path, which begins as a mark does.
    Marks(Content),
    Writes,
    SetsUpRing,
}

/// The successful writes of output.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    writes: u64,
    bytes: u64,
    last: Nanos,
}

impl PhaseEvents {
    /// For a run with this stdout.
    pub(super) fn new(stdout: OurStdout, marks: bool) -> PhaseEvents {
        let (flights, output) = (HashMap::new(), Written::default());
        PhaseEvents {
            stdout,
            events: Vec::new(),
            flights,
            executed: false,
            output,
            is_kept: true,
            marks,
            awaited: None,
        }
    }

    /// Looks for the mark that ends the run.
    pub(super) fn awaits_mark(&mut self, awaited: Option<AwaitedMark>) {
        self.awaited = awaited;
    }

    /// Only follows which calls are in progress.
    pub(super) fn unkept() -> PhaseEvents {
        PhaseEvents { is_kept: false, ..PhaseEvents::new(OurStdout::Unknown, false) }
    }

    /// A thread is at the entry of a call. Returns whether its return matters. `path` gives the path of an exec.
    pub(super) fn entered(&mut self, task: Task, entry: &EnteredCall, path: impl FnOnce() -> String) -> bool {
        let does = match call_roles().get(entry.call) {
            Some(CallRole::Exec) => Does::Executes(path()),
            Some(CallRole::Output(argument)) if self.is_output(task, entry, argument) => Does::Writes,
            None if entry.call.number == IO_URING_SETUP => Does::SetsUpRing,
            None => match self.mark(task, entry) {
                Some(path) => Does::Marks(path),
                None => return false,
            },
            Some(_) => return false,
        };
        let is_exec = matches!(does, Does::Executes(_));
        let flight = Flight { entered: clock::now(), call: entry.call, does };
        if is_exec {
            self.push(flight.entered, task, EventKind::ExecEnter);
        }
        self.flights.insert(task.thread, flight);
        true
    }

    /// The path that a call looks up, if marks are wanted and it begins as one does.
    fn mark(&self, task: Task, entry: &EnteredCall) -> Option<Content> {
        let are_wanted = self.marks || self.awaited.is_some();
        let position = lookups().get(entry.call).filter(|_| are_wanted && self.executed)?;
        let path = path(TracedThread(task.thread), entry.arguments[usize::from(position)]);
        MarkPath::of(&path.bytes).is_some().then_some(path)
    }

    fn is_output(&self, task: Task, entry: &EnteredCall, argument: u8) -> bool {
        let descriptor = entry.arguments[usize::from(argument)];
        self.executed && self.stdout.is_reached_by(TracedThread(task.thread), descriptor)
    }

    /// A thread has returned from a call.
    pub(super) fn returned(&mut self, at: Nanos, task: Task, result: i64) {
        let Some(flight) = self.flights.remove(&task.thread) else { return };
        match flight.does {
            Does::SetsUpRing if result >= 0 => self.push(at, task, EventKind::Ring),
            Does::Executes(_) => {
                self.executed |= result == 0;
                self.push(at, task, EventKind::ExecExit { result });
            }
            Does::Marks(path) if result < 0 => self.marked(flight.entered, task, path),
            Does::Writes if result > 0 => self.wrote(at, task, &flight, result),
            Does::SetsUpRing | Does::Marks(_) | Does::Writes => {}
        }
    }

    fn marked(&mut self, at: Nanos, task: Task, path: Content) {
        if let Some(awaited) = &self.awaited {
            awaited.looked_up(&path.bytes, at);
        }
        if self.marks {
            self.push(at, task, EventKind::Mark(path));
        }
    }

    fn wrote(&mut self, at: Nanos, task: Task, flight: &Flight, result: i64) {
        let call = flight.call;
        if self.output.writes == 0 {
            self.push(flight.entered, task, EventKind::OutputEnter { call });
            self.push(at, task, EventKind::OutputExit { call, result });
        }
        self.output.writes += 1;
        self.output.bytes += result.unsigned_abs();
        self.output.last = at;
    }

    /// An exec has succeeded; `former` is the id of the thread that called it.
    pub(super) fn committed(&mut self, at: Nanos, task: Task, former: i32) {
        let flight = self.flights.remove(&former);
        let path = match flight.as_ref().map(|flight| &flight.does) {
            Some(Does::Executes(path)) => path.clone(),
            _ => String::new(),
        };
        self.push(at, task, EventKind::ExecCommit { path });
        if let Some(flight) = flight {
            self.flights.insert(task.thread, flight);
        }
    }

    /// A process or a thread has been created.
    pub(super) fn forked(&mut self, at: Nanos, task: Task, child: Task) {
        let kind = EventKind::Fork {
            child_pid: child.process.cast_unsigned(),
            child_tid: child.thread.cast_unsigned(),
        };
        self.push(at, task, kind);
    }

    /// A thread is about to exit. `group_dead`: it is the last one of its process.
    pub(super) fn exiting(&mut self, at: Nanos, task: Task, group_dead: bool, status: i32) {
        self.flights.remove(&task.thread); // it was killed during a call
        self.push(at, task, EventKind::Exit { group_dead, status });
    }

    /// A process is dead. The tracer is notified when its parent is.
    pub(super) fn dead(&mut self, at: Nanos, task: Task) {
        self.push(at, task, EventKind::ParentTold);
    }

    /// Whether a thread's return from a call matters.
    pub(super) fn awaits(&self, thread: i32) -> bool {
        self.flights.contains_key(&thread)
    }

    /// Number of successful writes of output.
    pub(super) fn writes(&self) -> u64 {
        self.output.writes
    }

    /// Moves the events since the last call to the end of `events`.
    pub(super) fn drain_into(&mut self, events: &mut Vec<Event>) {
        events.append(&mut self.events);
    }

    /// The last successful write of output, known when all is over.
    pub(super) fn into_last(self) -> Option<Event> {
        let Written { writes, bytes, last } = self.output;
        let kind = EventKind::OutputLast { writes, bytes };
        (writes > 0).then_some(Event { at: last, pid: 0, tid: 0, kind })
    }

    fn push(&mut self, at: Nanos, task: Task, kind: EventKind) {
        if !self.is_kept {
            return;
        }
        let (pid, tid) = (task.process.cast_unsigned(), task.thread.cast_unsigned());
        self.events.push(Event { at, pid, tid, kind });
    }
}
