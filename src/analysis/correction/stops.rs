//! What the stops of a run by ptrace took from its threads.
//!
//! At each stop of a call the recording says how long the thread had had a processor so far. What else went by since the stop
//! before is the time of the tracer and of the way to it and back, unless the thread slept or waited: then it got the processor
//! more than once. Of its time on the processor, a part went into the stops themselves. That part is larger where the tracer ran
//! on another processor, which had to be woken.

use super::costs::{Pace, is_other};
use super::points::{Part, Point};
use crate::stats::{mean_of, median_of};
use firstbyte_measure::arch::Syscall;
use firstbyte_measure::tracer::event::OnProcessor;
use firstbyte_measure::tracer::{EventKind, Recording};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;
use std::mem::take;

/// A thread that shares a processor with the tracer is ready for at least this many nanoseconds before it gets it: the tracer
/// resumes it, and then begins to wait.
const SHARES: f64 = 300.0;
/// Of fewer calls of one kind, the mean says nothing.
const FEW: usize = 3;

/// What is lost before each of the points of a recording.
#[derive(Debug)]
pub(super) struct Stops {
    lost: Vec<Lost>,
    /// At the end of a call with readings.
    ends: Vec<Option<CallEnd>>,
}

/// What the readings say of a call.
#[derive(Clone, Copy, Debug)]
struct CallEnd {
    /// The thread slept or was preempted in it.
    slept: bool,
    /// Nanoseconds of a processor that its stops took.
    stop: f64,
}

/// Nanoseconds that a thread lost, or would not need untraced.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    /// It had no processor, and did not wait for anything of its own.
    idle: f64,
    /// It had a processor for the stops. In user code the sign is negative.
    stop: f64,
    /// It had a processor for something else.
    ran: f64,
}

/// What stops took before a point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    /// All nanoseconds that an untraced run does not have, since the last point of the thread.
    pub(super) all: f64,
    /// Those of its processor since the call began that ends here; 0 if no call does.
    pub(super) in_call: f64,
    /// Whether the thread slept or was preempted in this call; `None`: not known.
    pub(super) slept: Option<bool>,
}

/// The time between two readings of one thread.
struct Gap {
    /// The places of the points after the first reading.
    points: Vec<usize>,
    /// The call at whose end the second reading is; `None`: user code.
    call: Option<Syscall>,
    /// Nanoseconds that went by while the thread had no processor, and was not ready for one either.
    off: f64,
    ran: f64,
    delayed: f64,
    /// How many stops lie between the two, after each of which it got a processor again.
    between: u64,
    /// It got a processor more often than that: it slept, waited, or was preempted.
    came_back: bool,
    /// The tracer ran on another processor.
    apart: bool,
}

/// What is known of a thread on the way through the points.
#[derive(Default)]
struct Way {
    reading: Option<(Nanos, OnProcessor)>,
    /// It has been created, and stopped at once.
    begins: bool,
    /// When it entered an exec that has not returned.
    execs_since: Option<Nanos>,
    /// The places of the points since the reading.
    since: Vec<usize>,
    apart: bool,
}

impl Stops {
    /// `None`: the recording has no readings. `places`: those of the threads, by id.
    pub(super) fn of(points: &[Point], recording: &Recording, places: &HashMap<u32, usize>) -> Option<Stops> {
        let mut ways: Vec<Way> = places.iter().map(|_| Way::default()).collect();
        let (mut gaps, mut unknown) = (Vec::new(), Vec::new());
        for (place, point) in points.iter().enumerate().filter(|(_, point)| point.part != Part::Woken) {
            let kind = &recording.events[point.event].kind;
            if let EventKind::Image(image) = kind
                && let Some(old) = image.old_tid
            {
                // the thread that executed it has taken over this id
                let old = take(&mut ways[places[&old]]);
                unknown.append(&mut std::mem::replace(&mut ways[point.thread], old).since);
            }
            let way = &mut ways[point.thread];
            way.since.push(place);
            if let Some(reading) = reading(point, kind) {
                let between = way.stops_between(points, recording, point);
                match way.gap(point, kind, reading, between) {
                    Ok(gap) => gaps.push(gap),
                    Err(points) => unknown.extend(points),
                }
                way.reading = Some((point.at, reading));
            }
            match kind {
                EventKind::ExecEnter => {
                    way.execs_since = Some(point.at);
                    if way.reading.is_none() {
                        unknown.append(&mut way.since);
                    }
                }
                EventKind::Fork { child_tid, .. } => {
                    let reading = Some((point.at, OnProcessor::default()));
                    let child = Way { reading, begins: true, ..Way::default() };
                    // another thread may have had its id
                    unknown.append(&mut std::mem::replace(&mut ways[places[child_tid]], child).since);
                }
                _ => {}
            }
        }
        unknown.extend(ways.into_iter().flat_map(|way| way.since));
        (!gaps.is_empty()).then(|| {
            let lost = lost(points, recording, &gaps, &unknown);
            let mut ends = vec![None; points.len()];
            for gap in gaps.iter().filter(|gap| gap.call.is_some()) {
                if let [first, .., last] | [first @ last] = gap.points[..] {
                    ends[last] = Some(CallEnd { slept: gap.came_back, stop: lost[first].stop });
                }
            }
            Stops { lost, ends }
        })
    }

    /// What stops took of processors in user code, in nanoseconds.
    pub(super) fn in_user_code(&self) -> f64 {
        self.lost.iter().map(|lost| (-lost.stop).max(0.0)).sum()
    }

    /// What stops took before the point at this place.
    pub(super) fn before(&self, point: usize, pace: Pace) -> Before {
        let Lost { idle, stop, ran } = self.lost[point];
        let at_pace = |stop: f64| stop.abs() * pace.stops - stop * pace.tilt;
        let end = self.ends[point];
        Before {
            all: idle + at_pace(stop) + pace.slowed * ran,
            in_call: end.map_or(0.0, |end| at_pace(end.stop)),
            slept: end.map(|end| end.slept),
        }
    }
}

impl Way {
    /// The stops since the last reading, but for that of the present one.
    fn stops_between(&self, points: &[Point], recording: &Recording, end: &Point) -> u64 {
        let kind = |point: &Point| &recording.events[point.event].kind;
        let in_call = end.part == Part::End && matches!(kind(end), EventKind::Call(_));
        // a failed exec stops as any other call does
        let is_stop = |kind: &EventKind| match kind {
            EventKind::ExecEnter => !in_call,
            EventKind::ExecExit { result } => *result == 0,
            kind => is_other(kind),
        };
        let between = || self.since.iter().rev().skip(1).map(|place| kind(&points[*place]));
        let stops = between().filter(|kind| is_stop(kind)).count() as u64;
        // it has returned and was entered again
        let continues = in_call && between().any(|kind| matches!(kind, EventKind::Signalled { .. }));
        stops + u64::from(self.begins) + if continues { 2 } else { 0 }
    }

    /// The time since the last reading; else the points since then. Readings of different threads, one of which took over the
    /// id of the other, say nothing.
    fn gap(
        &mut self,
        end: &Point,
        kind: &EventKind,
        reading: OnProcessor,
        between: u64,
    ) -> Result<Gap, Vec<usize>> {
        let points = take(&mut self.since);
        self.begins = false;
        let differences = || {
            let (at, before) = self.reading.or_else(|| self.exec_entry(kind))?;
            let ran = reading.ran.0.checked_sub(before.ran.0)?;
            let delayed = reading.delayed.0.checked_sub(before.delayed.0)?;
            let turns = reading.turns.checked_sub(before.turns)?;
            Some((end.at.0.saturating_sub(at.0), ran, delayed, turns))
        };
        let Some((wall, ran, delayed, turns)) = differences() else { return Err(points) };

        let off = Nanos(wall.saturating_sub(ran).saturating_sub(delayed)).as_f64();
        let [ran, delayed] = [ran, delayed].map(|ns| Nanos(ns).as_f64());
        let came_back = turns > 1 + between;
        if turns <= 1 {
            self.apart = delayed < SHARES;
        }
        let call = match kind {
            EventKind::Call(call) if end.part == Part::End => Some(call.call),
            _ => None,
        };
        Ok(Gap { points, call, off, ran, delayed, between, came_back, apart: self.apart })
    }

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

/// What one stop takes where the tracer runs on the same processor, or on another one.
#[derive(Clone, Copy, Default)]
struct OneStop {
    /// On the way to the tracer and back, after a call and within it.
    idle: [f64; 2],
    /// Of the thread's processor.
    ran: f64,
}

impl OneStop {
    /// Nearly all programs make some calls that take the kernel a moment, like `close(2)`, or do little between calls: the kind of
    /// gap that takes least consists of its stop, but for a small rest. The mean of it, because some stops take much longer than
    /// most.
    fn of(gaps: &[&Gap]) -> OneStop {
        let usual = [false, true].map(|is_call| {
            let own = gaps.iter().filter(|gap| gap.call.is_some() == is_call);
            median_of(&own.map(|gap| gap.off).collect::<Vec<_>>()).unwrap_or(0.0)
        });
        let mut kinds: HashMap<Option<Syscall>, Vec<f64>> = HashMap::new();
        for gap in gaps {
            kinds.entry(gap.call).or_default().push(gap.ran);
        }
        let least = |few: usize| {
            let enough = kinds.values().filter(|ran| ran.len() >= few);
            enough.filter_map(|ran| mean_of(ran)).min_by(f64::total_cmp)
        };
        OneStop { idle: usual, ran: least(FEW).or_else(|| least(1)).unwrap_or(0.0) }
    }
}

/// What is lost in the gaps, each before its first point. Stops beside these lose as much as is usual.
fn lost(points: &[Point], recording: &Recording, gaps: &[Gap], unknown: &[usize]) -> Vec<Lost> {
    let stops = |apart: bool| -> Vec<&Gap> {
        gaps.iter().filter(|gap| gap.apart == apart && gap.between == 0 && !gap.came_back).collect()
    };
    let both = [stops(false), stops(true)];
    let usual = usize::from(both[1].len() > both[0].len());
    let both = both.map(|gaps| OneStop::of(&gaps));
    let kind = |place: usize| &recording.events[points[place].event].kind;

    let mut lost = vec![Lost::default(); points.len()];
    for place in unknown {
        let is_end = points[*place].part == Part::End;
        let is_stop = match kind(*place) {
            EventKind::Call(call) => !is_end || call.result.is_some(),
            kind => is_other(kind),
        };
        if is_stop {
            let OneStop { idle, ran } = both[usual];
            lost[*place] = Lost { idle: idle[usize::from(is_end)], stop: ran, ..Lost::default() };
        }
    }
    for gap in gaps {
        let Some(first) = gap.points.first() else { continue };
        let one = both[usize::from(gap.apart)];
        let stops = (1 + gap.between) as f64;
        let stop = one.ran * stops;
        let usual = one.idle[usize::from(gap.call.is_some())] * stops;
        lost[*first] = Lost {
            idle: gap.delayed + if gap.came_back { gap.off.min(usual) } else { gap.off },
            stop: if gap.call.is_some() { stop } else { -stop },
            ran: (gap.ran - stop).max(0.0),
        };
    }
    lost
}
