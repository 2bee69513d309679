//! Who ended the waits of a recording, and when.

use crate::analysis::inferred_wakes::{child_of, of_futexes};
use firstbyte_measure::arch::{CallFacts, Wait, call_names};
use firstbyte_measure::tracer::event::{Call, OffCpu};
use firstbyte_measure::tracer::{Backend, Event, EventKind, Recording};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;

/// The end of a wait: when it came, and the thread that brought it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wake {
    pub(super) at: Nanos,
    pub(super) waker: u32,
}

/// The waits that a thread of the run has ended, by the index of their event: a call, or a time off the processor.
pub(super) fn of(recording: &Recording) -> HashMap<usize, Wake> {
    let events = &recording.events;
    if recording.backend != Backend::Ptrace {
        return events
            .iter()
            .enumerate()
            .filter_map(|(index, event)| Some((index, switch(event)?)))
            .collect();
    }

    let futexes = of_futexes(events);
    let exits = exits(events);
    let call = |(index, event): (usize, &Event)| {
        let EventKind::Call(call) = &event.kind else { return None };
        let futex = futexes.get(&(event.tid, event.at));
        let futex = futex.map(|wake| Wake { at: wake.woken, waker: wake.waker[1] });
        let wake = futex.or_else(|| child(call, event, &exits)).or_else(|| other_end(call, index, events))?;
        (wake.at > call.entered).then_some((index, wake))
    };
    events.iter().enumerate().filter_map(call).collect()
}

/// Another thread ran where this one was woken.
fn switch(event: &Event) -> Option<Wake> {
    let EventKind::OffCpu(OffCpu { left, woken, waker: Some([_, waker]), preempted: false }) = event.kind
    else {
        return None;
    };
    (waker != event.tid && woken > left && left.0 > 0).then_some(Wake { at: woken, waker })
}

/// The last exit of each process, and its thread.
fn exits(events: &[Event]) -> HashMap<u32, Wake> {
    let exit = |event: &Event| match event.kind {
        EventKind::Exit { .. } => Some((event.pid, Wake { at: event.at, waker: event.tid })),
        _ => None,
    };
    events.iter().filter_map(exit).collect()
}

/// A call that waited for a child.
fn child(call: &Call, event: &Event, exits: &HashMap<u32, Wake>) -> Option<Wake> {
    let name = call_names::name(call.call);
    if CallFacts::of(&name)?.waits_for()? != Wait::Child {
        return None;
    }
    let child = child_of(&name, call, [])?;
    exits.get(&child).copied().filter(|exit| (call.entered..event.at).contains(&exit.at))
}

/// A call that read what another process sent, as far as the last thing that happened before its return tells.
fn other_end(call: &Call, index: usize, events: &[Event]) -> Option<Wake> {
    let name = call_names::name(call.call);
    let wait = CallFacts::of(&name)?.waits_for()?;
    if !matches!(wait, Wait::Read | Wait::Poll) || call.value().is_none() {
        return None;
    }
    let reader = &events[index];
    let before = events[..index].iter().rev().take_while(|event| event.at > call.entered);
    let sent = before.into_iter().find(|event| event.pid != 0 && event.tid != reader.tid)?;
    let sends = match &sent.kind {
        EventKind::Exit { .. } | EventKind::OutputExit { .. } => true,
        EventKind::Call(other) => {
            let name = call_names::name(other.call);
            name == "close" || CallFacts::of(&name).is_some_and(CallFacts::writes)
        }
        _ => false,
    };
    sends.then_some(Wake { at: sent.at, waker: sent.tid })
}
