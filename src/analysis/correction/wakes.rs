//! Who ended the waits of a recording, and when.

use crate::analysis::binaries::NoBinaries;
use crate::analysis::reading::Reconstruction;
use firstbyte_measure::arch::call_names;
use firstbyte_measure::tracer::event::OffCpu;
use firstbyte_measure::tracer::{Backend, Event, EventKind, Recording};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;

/// The end of a wait: when it came, and the thread that brought it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wake {
    pub(super) at: Nanos,
    pub(super) waker: u32,
}

/// The waits that a thread of the run has ended, by the index of their event: a call by ptrace, which sees no switches, else
/// a time off the processor. By ptrace also the ends of threads that another one ended with their process.
pub(super) fn of(recording: &Recording) -> HashMap<usize, Wake> {
    let by_ptrace = recording.backend == Backend::Ptrace;
    let of_call = if by_ptrace { inferred(recording) } else { HashMap::new() };
    let ended = if by_ptrace { ended_processes(recording) } else { HashMap::new() };
    let wake = |event: &Event| match &event.kind {
        EventKind::Exit { .. } => ended.get(&event.pid).copied().filter(|end| end.waker != event.tid),
        EventKind::Call(call) => of_call.get(&(event.tid, call.entered)).copied(),
        EventKind::OffCpu(absence) => switch(event.tid, absence),
        _ => None,
    };
    recording.events.iter().enumerate().filter_map(|(index, event)| Some((index, wake(event)?))).collect()
}

/// Which thread ended each process by `exit_group`, as the first one, and when.
fn ended_processes(recording: &Recording) -> HashMap<u32, Wake> {
    let mut ends: HashMap<u32, Wake> = HashMap::new();
    for event in &recording.events {
        let EventKind::Call(call) = &event.kind else { continue };
        if call_names::name(call.call) == "exit_group" {
            let end = Wake { at: call.entered, waker: event.tid };
            let first = ends.entry(event.pid).or_insert(end);
            if end.at < first.at {
                *first = end;
            }
        }
    }
    ends
}

/// Another thread ran where this one was woken.
fn switch(tid: u32, absence: &OffCpu) -> Option<Wake> {
    let OffCpu { left, woken, waker: Some([_, waker]), preempted: false } = *absence else { return None };
    (waker != tid && woken > left && left.0 > 0).then_some(Wake { at: woken, waker })
}

/// The ends of waits as the account infers them from the calls, by the thread that waited and when it began to.
fn inferred(recording: &Recording) -> HashMap<(u32, Nanos), Wake> {
    let is_begin = |event: &&Event| event.pid == recording.root && event.kind == EventKind::ExecEnter;
    let zero = recording.events.iter().find(is_begin).map_or(Nanos(0), |event| event.at);
    let end = recording.events.last().map_or(zero, |event| event.at);
    let threads = Reconstruction::of(recording, &NoBinaries, Nanos(end.0.saturating_sub(zero.0))).threads;

    let wakes = threads.iter().flat_map(|thread| thread.wakes.iter().map(|wake| (thread.tid, wake)));
    let waited = wakes.filter(|(_, wake)| wake.woken > wake.from);
    let known = waited
        .map(|(tid, wake)| ((tid, wake.from + zero), Wake { at: wake.woken + zero, waker: wake.waker[1] }));
    known.collect()
}
