//! Turns events into phases, instants and counts of processes. Pure: it reads nothing but the recording.
//!
//! [`Timeline::of`] reads one recording. The phases partition the time from the entry of the tracee's first
//! `execve` to its exit exactly, in integer nanoseconds. Where events are missing or contradict each other, the
//! result is an error, never a guess.

use crate::tracer::{Event, EventKind, Recording};
use crate::units::Nanos;
use std::collections::HashSet;

pub mod marks;
mod phase;
pub mod region;

pub use phase::{PerPhase, Phase, Phases};

/// The phases, instants and counts of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The partition of `total`; `None` if the backend saw no phases.
    pub phases: Option<Phases>,
    /// From the entry of `execve` (pipe backend: the launch) until the first byte was out (pipe backend: had arrived).
    pub first_byte: Option<Nanos>,
    /// From the entry of `execve` (pipe backend: the launch) until the exit (pipe backend: the reaping).
    pub total: Nanos,
    /// From just before the process was created until it was reaped.
    pub wall: Nanos,
    /// The instants within the run, from the entry of `execve`, in order.
    pub instants: Vec<Instant>,
    /// Number of processes that were seen, the tracee included; 0 if the backend sees none.
    pub processes: u32,
    /// Number of threads that were seen, main threads included; 0 if the backend sees none.
    pub threads: u32,
    /// Number of successful execs, the first included; 0 if the backend sees none.
    pub execs: u32,
}

/// A named instant within a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instant {
    /// Since the entry of the tracee's first `execve`.
    pub at: Nanos,
    /// What happened.
    pub what: Happening,
}

/// What happened at an [`Instant`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The kernel began to prepare the first image (`sched_prepare_exec`).
    ExecPrepared,
    /// The first image replaced the old one (`sched_process_exec`).
    ExecCommitted,
    /// A later exec of the chain: the process executed this file.
    Executed {
        /// The process.
        pid: u32,
        /// The file.
        path: String,
    },
    /// The last write of output returned.
    LastOutput,
}

/// Why a recording has no timeline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimelineError {
    /// An instant that every run has is missing.
    #[error("the recording lacks {0}")]
    Missing(&'static str),
    /// Two instants are in the wrong order.
    #[error("in the recording, {0} comes before {1}")]
    Disorder(&'static str, &'static str),
    /// ptrace does not see what an `io_uring` writes, and the reading end does not prove that nothing was written
    /// so.
    #[error(
        "it set up an io_uring, whose writes ptrace does not see, so its first byte is unknown; help: run as root, for the bpf backend, or bench it with `--backend pipe`"
    )]
    Ring,
    /// The tracer and the reading end disagree.
    #[error("the tracer saw {written} bytes written, but {read} arrived")]
    Disagreement {
        /// Sum of the successful writes of output.
        written: u64,
        /// Bytes that arrived.
        read: u64,
    },
}

impl Timeline {
    /// The timeline of one run.
    pub fn of(recording: &Recording) -> Result<Timeline, TimelineError> {
        let events = &recording.events;
        let spawn = find(events, |kind| matches!(kind, EventKind::Spawn)).ok_or(Missing("the launch"))?;
        let reaped =
            find(events, |kind| matches!(kind, EventKind::Reaped { .. })).ok_or(Missing("the reaping"))?;
        let reaped = reached(events).unwrap_or(reaped);

        let wall = between(spawn.at, reaped.at, "the reaping", "the launch")?;
        if recording.backend.attaches_nothing() {
            return from_outside(events, spawn.at, wall);
        }
        let root = Root::of(recording)?;
        if resumed(events).next().is_some() {
            return root.seen_at_one_stop(events, wall);
        }
        agree(recording)?;

        let phases = root.phases(events)?;

        Ok(Timeline {
            first_byte: phases.first_byte(),
            total: phases.total(),
            phases: Some(phases),
            wall,
            instants: root.instants(events),
            processes: count(processes(recording)),
            threads: count(threads(recording)),
            execs: count(events.iter().filter(|e| e.kind == EventKind::ExecExit { result: 0 }).count()),
        })
    }
}

use TimelineError::{Disagreement, Disorder, Missing};

/// The instants of the tracee itself that bound the phases.
struct Root {
    entered: Nanos,
    returned: Nanos,
    /// When its main thread began to exit.
    exit_begun: Nanos,
    exited: Nanos,
}

impl Root {
    fn of(recording: &Recording) -> Result<Root, TimelineError> {
        let of_root = |event: &&Event| event.pid == recording.root;
        let first = |wanted: fn(&EventKind) -> bool| {
            recording.events.iter().filter(of_root).find(|event| wanted(&event.kind)).map(|event| event.at)
        };
        let entered = first(|kind| *kind == EventKind::ExecEnter).ok_or(Missing("the entry of `execve`"))?;
        let returned = first(|kind| *kind == EventKind::ExecExit { result: 0 })
            .ok_or(Missing("the return of `execve`"))?;
        // Several threads exit. The last one tells the parent.
        let exits = recording.events.iter().filter(of_root);
        let exited = exits
            .filter(|event| matches!(event.kind, EventKind::Exit { .. } | EventKind::ParentTold))
            .map(|event| event.at)
            .max()
            .ok_or(Missing("the tracee's exit"))?;
        let main =
            |event: &&Event| event.tid == recording.root && matches!(event.kind, EventKind::Exit { .. });
        let exit_begun = recording.events.iter().filter(of_root).find(main).map_or(exited, |event| event.at);
        Ok(Root { entered, returned, exit_begun, exited })
    }

    fn phases(&self, events: &[Event]) -> Result<Phases, TimelineError> {
        let ended = self.ended(events);
        let startup = between(self.entered, self.returned, "the return of `execve`", "its entry")?;
        let Some((enter, exit)) = first_write(events, self.exited) else {
            let begun = self.exit_begun.min(ended);
            return Ok(Phases {
                startup,
                setup: Some(between(self.returned, begun, "the exit", "the return of `execve`")?),
                write: None,
                teardown: between(begun, ended, "the exit", "its beginning")?,
            });
        };
        Ok(Phases {
            startup,
            setup: Some(between(self.returned, enter, "the first write", "the return of `execve`")?),
            write: Some(between(enter, exit, "the return of the first write", "its entry")?),
            teardown: between(exit, ended.max(exit), "the exit", "the return of the first write")?,
        })
    }

    /// The exec and the arrival of the first byte bound the phases. What the tracee stood still belongs to none of them.
    fn seen_at_one_stop(&self, events: &[Event], wall: Nanos) -> Result<Timeline, TimelineError> {
        let arrived = find(events, |kind| matches!(kind, EventKind::FirstRead { .. }));
        let arrived = arrived.ok_or(Missing("the arrival of the first byte"))?.at;
        let ran = |from: Nanos| resumed(events).filter(|at| *at >= from).min().unwrap_or(from);

        let startup = between(self.entered, self.returned, "the return of `execve`", "its entry")?;
        let setup =
            between(ran(self.returned), arrived, "the first byte's arrival", "the return of `execve`")?;
        let teardown = between(ran(arrived), self.exited, "the exit", "the first byte's arrival")?;
        let phases = Phases { startup, setup: Some(setup), write: None, teardown };

        Ok(Timeline {
            first_byte: Some(startup + setup),
            total: phases.total(),
            phases: Some(phases),
            wall,
            instants: Vec::new(),
            processes: 0,
            threads: 0,
            execs: 0,
        })
    }

    /// The exit, or the moment at which the run was to end, if that was earlier.
    fn ended(&self, events: &[Event]) -> Nanos {
        reached(events).map_or(self.exited, |reached| reached.at.min(self.exited))
    }

    fn instants(&self, events: &[Event]) -> Vec<Instant> {
        let within = events.iter().filter(|event| event.at >= self.entered);
        within
            .filter_map(|event| {
                let what = match &event.kind {
                    EventKind::ExecPrepare if event.at <= self.returned => Happening::ExecPrepared,
                    EventKind::ExecCommit { .. } if event.at <= self.returned => Happening::ExecCommitted,
                    EventKind::ExecCommit { path } => {
                        Happening::Executed { pid: event.pid, path: path.clone() }
                    }
                    EventKind::OutputLast { .. } => Happening::LastOutput,
                    _ => return None,
                };
                Some(Instant { at: event.at - self.entered, what })
            })
            .collect()
    }
}

/// Entry and return of the write that brought out the first byte: the first write that returned with success, if it
/// returned before the tracee exited and was entered before the moment at which the run was to end.
fn first_write(events: &[Event], exited: Nanos) -> Option<(Nanos, Nanos)> {
    let (index, exit) = events.iter().enumerate().find(|(_, event)| {
        matches!(event.kind, EventKind::OutputExit { result: 1.., .. }) && event.at <= exited
    })?;
    let of_writer =
        |event: &&Event| event.tid == exit.tid && matches!(event.kind, EventKind::OutputEnter { .. });
    let enter = events[..index].iter().rev().find(of_writer)?;
    let within = reached(events).is_none_or(|reached| enter.at < reached.at);
    within.then_some((enter.at, exit.at))
}

/// Without a tracer: the launch, the arrival of the first byte, the reaping.
fn from_outside(events: &[Event], spawned: Nanos, wall: Nanos) -> Result<Timeline, TimelineError> {
    let arrival = find(events, |kind| matches!(kind, EventKind::FirstRead { .. }));
    let first_byte = arrival
        .map(|event| between(spawned, event.at, "the first byte's arrival", "the launch"))
        .transpose()?;
    Ok(Timeline {
        phases: None,
        first_byte,
        total: wall,
        wall,
        instants: Vec::new(),
        processes: 0,
        threads: 0,
        execs: 0,
    })
}

/// Checks that the tracer and the reading end agree. If the tracee left processes behind, they may have written
/// more. A terminal changes the bytes, and in a file some places may be written twice; then only whether there were
/// any bytes is compared.
fn agree(recording: &Recording) -> Result<(), TimelineError> {
    let has_ring = find(&recording.events, |kind| *kind == EventKind::Ring).is_some();
    let written = recording.events.iter().find_map(|event| match event.kind {
        EventKind::OutputLast { bytes, .. } => Some(bytes),
        _ => None,
    });
    let written = written.unwrap_or(0);
    if has_ring && !(recording.output.exact && recording.output.bytes == Some(written)) {
        return Err(TimelineError::Ring);
    }
    let Some(read) = recording.output.bytes else { return Ok(()) };
    let whole = !recording.left_behind && recording.killed.is_none();
    let agreed = match &recording.output {
        output if output.exact && whole => written == read,
        output if output.rewritable && whole => written >= read && (written > 0) == (read > 0),
        _ => (written > 0) == (read > 0) || recording.left_behind,
    };
    if agreed { Ok(()) } else { Err(Disagreement { written, read }) }
}

fn reached(events: &[Event]) -> Option<&Event> {
    find(events, |kind| matches!(kind, EventKind::Reached { .. }))
}

fn resumed(events: &[Event]) -> impl Iterator<Item = Nanos> {
    events.iter().filter(|event| event.kind == EventKind::Resumed).map(|event| event.at)
}

fn processes(recording: &Recording) -> usize {
    let born = recording.events.iter().filter_map(|event| match event.kind {
        EventKind::Fork { child_pid, .. } if child_pid != event.pid => Some(child_pid),
        _ => None,
    });
    born.chain([recording.root]).collect::<HashSet<_>>().len()
}

fn threads(recording: &Recording) -> usize {
    1 + recording.events.iter().filter(|event| matches!(event.kind, EventKind::Fork { .. })).count()
}

fn find(events: &[Event], wanted: impl Fn(&EventKind) -> bool) -> Option<&Event> {
    events.iter().find(|event| wanted(&event.kind))
}

fn between(
    from: Nanos,
    to: Nanos,
    later: &'static str,
    earlier: &'static str,
) -> Result<Nanos, TimelineError> {
    to.since(from).ok_or(Disorder(later, earlier))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
