//! How long the threads of a run by ptrace did nothing because of the stops.
//!
//! At each stop of a call the recording says how long the thread had had a processor so far. What else went by since the
//! stop before is the time of the tracer and of the way to it and back, unless the thread slept or waited: then it got the
//! processor more than once.

use super::costs::{Pace, is_other};
use super::points::{Part, Point};
use crate::stats::{mean_of, median_of};
use firstbyte_measure::arch::Syscall;
use firstbyte_measure::tracer::event::OnProcessor;
use firstbyte_measure::tracer::{EventKind, Recording};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;

/// What the readings of a recording say.
#[derive(Debug)]
pub(super) struct Idle {
    /// What was lost before each of the points.
    before: Vec<Lost>,
    /// What a stop costs its thread, in nanoseconds of a processor.
    pub(super) stop: Stop,
}

/// Between which bounds something lies, and where it probably does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stop {
    pub(super) least: f64,
    pub(super) likely: f64,
    pub(super) most: f64,
}

/// Nanoseconds that a thread lost, or would not need untraced.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    /// It had no processor, and did not wait for anything of its own.
    idle: f64,
    /// How much of that it was ready after a wait or a preemption, while others ran.
    delayed: f64,
    /// It had a processor, for something else than a stop.
    ran: f64,
}

/// Nearly all programs make some calls that take the kernel a moment, like `close(2)`. The kind of call that takes least consists
/// of its stop, but for a small rest.
const OF_STOP: f64 = 0.95;
/// Where a program only makes calls that take longer, more of their time is their own.
const LEAST: f64 = 0.7;
/// Of so few calls of one kind, the mean says nothing.
const FEW: usize = 8;

impl Idle {
    /// The nanoseconds before the point at this place that an untraced run does not have.
    pub(super) fn before(&self, place: usize, pace: Pace) -> f64 {
        let Lost { idle, delayed, ran } = self.before[place];
        idle - pace.delays_kept * delayed + pace.slowed * ran
    }
}

/// The time between two readings of one thread.
struct Gap {
    /// The place of the first point after the first reading.
    first: usize,
    /// The call at whose end the second reading is.
    call: Option<Syscall>,
    /// Nanoseconds that went by while the thread had no processor, and was not ready for one either.
    off: f64,
    ran: f64,
    delayed: f64,
    /// It got a processor more than once.
    came_back: bool,
}

/// What is known of a thread on the way through the points.
#[derive(Default)]
struct Way {
    reading: Option<(Nanos, OnProcessor)>,
    /// When it entered an exec that has not returned.
    execs_since: Option<Nanos>,
    /// The places of the points since then.
    since: Vec<usize>,
}

/// `None`: the recording has no readings.
pub(super) fn of(points: &[Point], recording: &Recording, places: &HashMap<u32, usize>) -> Option<Idle> {
    let mut ways: Vec<Way> = places.iter().map(|_| Way::default()).collect();
    let (mut gaps, mut unknown) = (Vec::new(), Vec::new());
    for (place, point) in points.iter().enumerate().filter(|(_, point)| point.part != Part::Woken) {
        let event = &recording.events[point.event];
        let way = &mut ways[point.thread];
        way.since.push(place);
        if let Some(reading) = reading(point, &event.kind) {
            let since = std::mem::take(&mut way.since);
            let before = way.reading.or_else(|| way.exec_entry(&event.kind));
            match before.and_then(|before| gap(&since, (point, &event.kind), before, reading)) {
                Some(gap) => gaps.push(gap),
                None => unknown.extend(since),
            }
            way.reading = Some((point.at, reading));
        }
        if event.kind == EventKind::ExecEnter {
            way.execs_since = Some(point.at);
            if way.reading.is_none() {
                unknown.append(&mut way.since);
            }
        }
        if let EventKind::Fork { child_tid, .. } = event.kind {
            let reading = Some((point.at, OnProcessor::default()));
            ways[places[&child_tid]] = Way { reading, ..Way::default() };
        }
    }
    unknown.extend(ways.into_iter().flat_map(|way| way.since));

    let stop = cost_of_stop(&gaps)?;
    Some(Idle { before: spread(points, recording, &gaps, &unknown, stop), stop })
}

/// The mean, because all stops together are to be taken off: some take much longer than most.
fn cost_of_stop(gaps: &[Gap]) -> Option<Stop> {
    let mut kinds: HashMap<Syscall, Vec<f64>> = HashMap::new();
    for gap in gaps.iter().filter(|gap| !gap.came_back) {
        let Some(call) = gap.call else { continue };
        kinds.entry(call).or_default().push(gap.ran);
    }
    let enough = |min: usize| kinds.values().filter(move |ran| ran.len() >= min);
    let least = |min: usize| enough(min).filter_map(|ran| mean_of(ran)).min_by(f64::total_cmp);
    let cheapest = least(FEW).or_else(|| least(1))?;
    Some(Stop { least: LEAST * cheapest, likely: OF_STOP * cheapest, most: cheapest })
}

/// What is lost in the gaps, each before its first point. Stops beside these lose as much as is usual.
fn spread(
    points: &[Point],
    recording: &Recording,
    gaps: &[Gap],
    unknown: &[usize],
    stop: Stop,
) -> Vec<Lost> {
    let usual = [false, true].map(|is_call| {
        let own = gaps.iter().filter(|gap| gap.call.is_some() == is_call && !gap.came_back);
        median_of(&own.map(|gap| gap.off).collect::<Vec<_>>()).unwrap_or(0.0)
    });

    let mut before = vec![Lost::default(); points.len()];
    for place in unknown {
        let point = &points[*place];
        let kind = &recording.events[point.event].kind;
        if matches!(kind, EventKind::Call(_)) || is_other(kind) {
            before[*place].idle = usual[usize::from(point.part == Part::End)];
        }
    }
    for gap in gaps {
        let usual = usual[usize::from(gap.call.is_some())];
        let off = if gap.came_back { gap.off.min(usual) } else { gap.off };
        let delayed = if gap.came_back { gap.delayed } else { 0.0 };
        before[gap.first] = Lost { idle: off + gap.delayed, delayed, ran: (gap.ran - stop.likely).max(0.0) };
    }
    before
}

impl Way {
    /// The reading at the entry of an exec is recorded with the image.
    fn exec_entry(&self, kind: &EventKind) -> Option<(Nanos, OnProcessor)> {
        let EventKind::Image(image) = kind else { return None };
        self.execs_since.zip(image.processor.as_ref().map(|times| times[0]))
    }
}

fn reading(point: &Point, kind: &EventKind) -> Option<OnProcessor> {
    let processor = match kind {
        EventKind::Call(call) => call.processor.as_ref(),
        EventKind::Image(image) => image.processor.as_ref(),
        _ => None,
    };
    let [entry, exit] = **processor?;
    Some(if point.part == Part::Begin { entry } else { exit })
}

/// `None`: these are readings of different threads, one of which took over the id of the other.
fn gap(
    since: &[usize],
    (end, kind): (&Point, &EventKind),
    before: (Nanos, OnProcessor),
    reading: OnProcessor,
) -> Option<Gap> {
    let (at, earlier) = before;
    let ran = reading.ran.0.checked_sub(earlier.ran.0)?;
    let delayed = reading.delayed.0.checked_sub(earlier.delayed.0)?;
    let turns = reading.turns.checked_sub(earlier.turns)?;
    let off = end.at.0.saturating_sub(at.0).saturating_sub(ran).saturating_sub(delayed);
    Some(Gap {
        first: *since.first()?,
        call: match kind {
            EventKind::Call(call) if end.part == Part::End => Some(call.call),
            _ => None,
        },
        off: Nanos(off).as_f64(),
        ran: Nanos(ran).as_f64(),
        delayed: Nanos(delayed).as_f64(),
        came_back: turns > 1,
    })
}
