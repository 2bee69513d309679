//! The instants of a recording in their order.

use super::wakes::Wake;
use firstbyte_measure::tracer::{Event, EventKind, Recording};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;

/// The times that an event contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Begin,
    Woken,
    End,
}

/// An instant of a recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) at: Nanos,
    pub(super) part: Part,
    pub(super) event: usize,
    /// The place of the event's thread.
    pub(super) thread: usize,
}

/// All of them. `wakes`: the ends of waits, by their event; `places`: those of the threads, by id.
pub(super) fn of(
    recording: &Recording,
    wakes: &HashMap<usize, Wake>,
    places: &HashMap<u32, usize>,
) -> Vec<Point> {
    let mut points = Vec::with_capacity(recording.events.len() * 2);
    for (event, Event { at, tid, kind, .. }) in recording.events.iter().enumerate() {
        let thread = places[tid];
        let begin = match kind {
            EventKind::Call(call) => Some(call.entered),
            EventKind::Fault(fault) => Some(fault.entered),
            EventKind::OffCpu(absence) => Some(absence.left),
            _ => None,
        };
        let begin = begin.filter(|begin| begin.0 > 0);
        points.extend(begin.map(|at| Point { at, part: Part::Begin, event, thread }));
        let wake = wakes.get(&event);
        points.extend(wake.map(|wake| Point { at: wake.at, part: Part::Woken, event, thread }));
        points.push(Point { at: *at, part: Part::End, event, thread });
    }
    points.sort_by_cached_key(|point| (point.at, rank(point, recording)));
    points
}

/// The order of points at the same instant. What waits for an exit goes on then.
fn rank(point: &Point, recording: &Recording) -> u8 {
    match (point.part, &recording.events[point.event].kind) {
        (Part::Begin, _) | (Part::End, EventKind::Fork { .. }) => 0,
        (Part::End, EventKind::Call(call)) if call.result.is_none() => 0,
        (Part::End, EventKind::Exit { .. }) => 1,
        (Part::Woken, _) => 2,
        (Part::End, _) => 3,
    }
}

/// The places of the threads that a recording names, by id.
pub(super) fn places(recording: &Recording) -> HashMap<u32, usize> {
    let mut places = HashMap::from([(recording.root, 0)]);
    for event in &recording.events {
        let other = match &event.kind {
            EventKind::Fork { child_tid, .. } => Some(*child_tid),
            EventKind::Image(image) => image.old_tid,
            _ => None,
        };
        for tid in other.into_iter().chain([event.tid]) {
            let next = places.len();
            places.entry(tid).or_insert(next);
        }
    }
    places
}
