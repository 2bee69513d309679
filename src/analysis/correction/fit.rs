//! How much the observation cost in these runs.

use super::costs::{GivingWay, ObserverCosts, Pace, PointCosts};
use super::lags::Lags;
use crate::analysis::runs::{ObservedRuns, SampledUser};
use crate::bench::BothKinds;
use crate::stats::{median_of, quantile};
use firstbyte_measure::tracer::event::OffCpu;
use firstbyte_measure::tracer::{Event, EventCost, EventKind, Recording};

/// How uncertain the calibrated overhead is, as a part of itself: the events of a program do not follow each other as those of
/// the calibration do.
const CALIBRATION_ERROR: f64 = 0.25;

/// Events do not cost more than this many times what calibration says. What runs take longer beyond that has other reasons.
const MAX_SCALE: f64 = 2.0;
/// Unless it was the calibration that was disturbed.
const MAX_MEASURED_SCALE: f64 = 100.0;
/// An untraced launch takes about this many nanoseconds: vfork, and the death and the reaping of the smallest program.
const UNTRACED_LAUNCH: f64 = 60_000.0;
/// A stop takes less than this many nanoseconds, even where we wait for a processor meanwhile.
const MAX_STOP: f64 = 1e9;

/// A cheap call takes a little time beside its stop.
const USUAL: Pace = Pace { stops: 0.95, tilt: 0.0, given: 0.0, slowed: 0.0, giving_way: GivingWay::Nothing };
/// The caches make some of them more expensive.
const LIKELY_STOPS: f64 = 1.15;
const MAX_STOPS: f64 = 8.0;
/// By how much stops usually differ in user code and within calls, as a part of both, and at most.
const TILT: f64 = 0.1;
const MAX_TILT: f64 = 0.3;
/// At most this part of the time on a processor is for caches that the tracer used, too.
const MAX_SLOWED: f64 = 0.5;
/// On a busy machine, a program has a twentieth of a processor at least.
const MIN_SLOWED: f64 = -20.0;
/// More than this is not usual.
const SLOWED: f64 = 0.25;
/// A run that takes this part longer than an untraced one may be one of the longer ones.
const NEAR: f64 = 0.1;
/// A page fault takes about this long, in nanoseconds, on hardware and on virtual machines. By ptrace it belongs to user code.
const FAULT: [f64; 2] = [250.0, 2000.0];

/// How many places the fit tries at most, and how close to the wanted value it gets.
const STEPS: u32 = 60;
const CLOSE: f64 = 1e-4;

/// What stops of ptrace cost in each run; `None` if nothing is known of it. The untraced runs say how long each run would have
/// been, the shortest one as long as the shortest of these; those of a cold program are warm, and say nothing.
pub(super) fn of_stops(observed: &ObservedRuns) -> Option<Vec<PointCosts>> {
    let mut walls = if observed.cold.is_some() { Vec::new() } else { observed.untraced.clone() };
    walls.sort_by(f64::total_cmp);
    let runs = observed.recordings.iter().enumerate();
    let costs = runs.map(|(run, recording)| {
        let untraced = quantile(&walls, share_below(run, &observed.traced)).map(untraced_total);
        of_stops_in(recording, untraced, observed.user)
    });
    costs.collect()
}

/// Where a run stands among all of them, from 0 for the shortest one to 1.
fn share_below(run: usize, walls: &[f64]) -> f64 {
    let Some(own) = walls.get(run) else { return 0.5 };
    let below = walls.iter().filter(|wall| *wall < own).count();
    if walls.len() < 2 { 0.5 } else { below as f64 / (walls.len() - 1) as f64 }
}

/// What stops cost in a run that would have taken `untraced` nanoseconds.
fn of_stops_in(
    recording: &Recording,
    untraced: Option<f64>,
    user: Option<SampledUser>,
) -> Option<PointCosts> {
    let untraced = untraced?;
    let lags = Lags::of(recording);
    if lags.measures() {
        let run = MeasuredRun { recording, lags };
        let pace = run.lasting(untraced);
        return Some(at_pace(user.map_or(pace, |user| run.with_user_code(pace, user))));
    }
    let costs = |stop: f64| ObserverCosts::of_stops().scaled(stop);
    Some(costs(solved([0.0, MAX_STOP], |stop| -lags.total(recording, &costs(stop)), -untraced)))
}

fn at_pace(pace: Pace) -> PointCosts {
    PointCosts { pace, ..PointCosts::default() }
}

/// A run that says how long threads had a processor between its stops.
struct MeasuredRun<'r> {
    recording: &'r Recording,
    lags: Lags,
}

impl MeasuredRun<'_> {
    fn total(&self, pace: Pace) -> f64 {
        self.lags.total(self.recording, &at_pace(pace))
    }

    /// The pace at which the run takes as long as an untraced one. If it is too long at the usual one, its stops cost more, or they
    /// slowed the program down beside. If it is too short, untraced runs share the processors with others.
    fn lasting(&self, untraced: f64) -> Pace {
        // if it is far from that, some wait was for a thread that stops slowed down
        let mut shortest = (GivingWay::Nothing, f64::INFINITY);
        for giving_way in [GivingWay::Nothing, GivingWay::Waits, GivingWay::Timeouts] {
            let total = self.total(Pace { giving_way, stops: LIKELY_STOPS, slowed: SLOWED, ..USUAL });
            if total < shortest.1 {
                shortest = (giving_way, total);
            }
            if total <= (1.0 + NEAR) * untraced {
                break;
            }
        }
        self.fitted(Pace { giving_way: shortest.0, ..USUAL }, untraced)
    }

    fn fitted(&self, pace: Pace, untraced: f64) -> Pace {
        let pace = self.with_stops(pace, [pace.stops, LIKELY_STOPS], untraced);
        let slowed = |slowed: f64| Pace { slowed, ..pace };
        let is_short = self.total(pace) < untraced;
        let bounds = if is_short { [MIN_SLOWED, 0.0] } else { [0.0, MAX_SLOWED] };
        let pace = slowed(solved(bounds, |part| -self.total(slowed(part)), -untraced));
        if is_short { pace } else { self.with_stops(pace, [pace.stops, MAX_STOPS], untraced) }
    }

    /// The same pace with so expensive stops that the run lasts as long as an untraced one, within these bounds.
    fn with_stops(&self, pace: Pace, bounds: [f64; 2], untraced: f64) -> Pace {
        let with = |stops: f64| Pace { stops, ..pace };
        with(solved(bounds, |stops| -self.total(with(stops)), -untraced))
    }

    /// The same pace, but with as much user code as samples and stops say, each as certain as it is. If that is more, stops cost
    /// less there than within calls. If it is less, the calls get the rest.
    fn with_user_code(&self, pace: Pace, user: SampledUser) -> Pace {
        let in_user_code = |pace: Pace| self.lags.user(self.recording, &at_pace(pace));
        let own = [in_user_code(pace), TILT * self.lags.stops_in_user_code()];
        let [time, error] = sampled(user, self.recording, own[0]);
        // by ptrace, page faults belong to user code
        let faults = FAULT.map(|each| each * self.recording.usage.minor_faults as f64);
        let both = [time + faults[0].midpoint(faults[1]), error.hypot((faults[1] - faults[0]) / 4.0)];
        let likely = combined(own, both);
        let fitted = |bounds, with: &dyn Fn(f64) -> Pace| {
            with(solved(bounds, |value| -in_user_code(with(value)), -likely))
        };
        let pace = fitted([-MAX_TILT, 0.0], &|tilt| Pace { tilt, ..pace });
        fitted([0.0, 1.0], &|given| Pace { given, ..pace })
    }
}

/// How long a run is in user code, and the standard error of that. If there are fewer samples than `supposed` nanoseconds need,
/// that is no more certain, and one sample more, because none at all is not certain either. The first samples of threads and
/// processes that the program creates come after a period, so some of their time is not seen.
fn sampled(user: SampledUser, recording: &Recording, supposed: f64) -> [f64; 2] {
    let samples = (user.samples as f64).max(supposed / user.each);
    let created =
        recording.events.iter().filter(|event| matches!(event.kind, EventKind::Fork { .. })).count();
    let unseen = created as f64 * user.period / 2.0;
    [user.time, (user.each * (samples + 1.0).sqrt()).hypot(unseen)]
}

/// How much the events of these runs cost, as a multiple of the calibrated costs. By calibration it is 1. The traced runs over the
/// untraced ones beside them say how much longer the whole run took, and each of the two counts as much as it is certain.
pub(super) fn scale(observed: &ObservedRuns, costs: &ObserverCosts) -> Option<f64> {
    let recording = typical(observed)?;
    let lags = Lags::of(recording);
    let taken = preempted(recording);
    let worked = |scale: f64| (lags.wall(recording, &costs.scaled(scale)) - taken).max(1.0);
    let none = worked(0.0);
    let Some(measured) = overhead(observed, recording, none) else { return Some(1.0) };
    let more = |scale: f64| none / worked(scale) - 1.0;
    let predicted = [more(1.0), CALIBRATION_ERROR * more(1.0)];
    let measured_more = [measured.more, measured.error];
    // other programs disturb the calibration, but not the processor times
    if measured.by_processor && disagree(predicted, measured_more) {
        return Some(solved([0.0, MAX_MEASURED_SCALE], more, measured.more));
    }
    Some(solved([0.0, MAX_SCALE], more, combined(predicted, measured_more)))
}

/// The same costs, but those of calls so divided into what lies within them and around them that the runs have as much user code
/// as the calibration and samples say, each as certain as it is.
pub(super) fn with_user_code(observed: &ObservedRuns, costs: PointCosts) -> PointCosts {
    let Some((user, recording)) = observed.user.zip(typical(observed)) else { return costs };
    let (lags, lengths) = (Lags::of(recording), lengths_of_calls(recording));
    let EventCost { around, within } = costs.syscall;
    let divided = |moved: f64| EventCost { around: around - moved, within: within + moved };
    let in_user_code = |moved| lags.user(recording, &PointCosts { syscall: divided(moved), ..costs });

    let own = [in_user_code(0.0), CALIBRATION_ERROR * lengths.len() as f64 * costs.syscall.total()];
    let likely = combined(own, sampled(user, recording, own[0]));
    // no call is shorter than the observation within it
    let longest = (median_of(&lengths).unwrap_or(0.0) - within).clamp(0.0, around.max(0.0));
    PointCosts { syscall: divided(solved([-costs.syscall.total(), longest], in_user_code, likely)), ..costs }
}

/// How long the calls that returned took, as recorded, in nanoseconds.
fn lengths_of_calls(recording: &Recording) -> Vec<f64> {
    let length = |event: &Event| match &event.kind {
        EventKind::Call(call) if call.result.is_some() => Some(event.at.as_f64() - call.entered.as_f64()),
        _ => None,
    };
    recording.events.iter().filter_map(length).collect()
}

/// What of an untraced run lies between the entry of execve and the exit. A launch that is slow for other reasons makes no
/// program shorter.
fn untraced_total(wall: f64) -> f64 {
    wall - UNTRACED_LAUNCH.min(wall / 2.0)
}

/// How long the tracee's first thread was ready, but another thread had the processor. Untraced runs of that length lose as
/// much of theirs, and no cost is seen in it.
fn preempted(recording: &Recording) -> f64 {
    let lost = |event: &Event| match event.kind {
        EventKind::OffCpu(OffCpu { left, preempted: true, .. }) if event.tid == recording.root => {
            event.at.as_f64() - left.as_f64()
        }
        _ => 0.0,
    };
    recording.events.iter().map(lost).sum()
}

/// How much longer the traced runs took, as a part of the untraced ones, and how uncertain that is.
struct Measured {
    more: f64,
    error: f64,
    /// By processor times.
    by_processor: bool,
}

/// Untraced runs of a cold program are warm, so these say nothing. `worked`: the wall time of the recording, without what other
/// programs took.
fn overhead(observed: &ObservedRuns, recording: &Recording, worked: f64) -> Option<Measured> {
    if observed.cold.is_some() {
        return None;
    }
    let untraced = median_of(&observed.untraced)?;
    let by_processor = undisturbed(observed, recording, worked);
    if let Some(overhead) = BothKinds::overhead(by_processor.as_ref().unwrap_or(&observed.blocks)) {
        let interval = overhead.interval;
        // a 95 % interval is four standard errors wide
        let error = (interval.high - interval.low) / 4.0;
        return Some(Measured { more: overhead.ratio - 1.0, error, by_processor: by_processor.is_some() });
    }
    let more = median_of(&observed.traced)? / untraced.max(1.0) - 1.0;
    Some(Measured { more, error: f64::INFINITY, by_processor: false })
}

/// The wall times of the blocks if no other program had had a processor: those of the processor, and as long a wait as in the
/// recording. `None`: there are several threads, which work at the same time, or the processor times are not known.
fn undisturbed(observed: &ObservedRuns, recording: &Recording, worked: f64) -> Option<Vec<BothKinds<f64>>> {
    let forks = recording.events.iter().any(|event| matches!(event.kind, EventKind::Fork { .. }));
    let traced: Vec<f64> = observed.processor_blocks.iter().map(|block| block.traced).collect();
    let waits = worked - median_of(&traced).filter(|_| !forks)?;
    let with_waits = |block: &BothKinds<f64>| {
        let [traced, untraced] = [block.traced, block.untraced].map(|time| time + waits.max(0.0));
        BothKinds { traced, untraced }
    };
    Some(observed.processor_blocks.iter().map(with_waits).collect())
}

/// The recording whose wall time is the median.
fn typical(observed: &ObservedRuns) -> Option<&Recording> {
    let mut by_wall: Vec<(f64, &Recording)> =
        observed.traced.iter().copied().zip(&observed.recordings).collect();
    by_wall.sort_by(|a, b| a.0.total_cmp(&b.0));
    by_wall.get(by_wall.len() / 2).map(|(_, recording)| *recording).or(observed.recordings.first())
}

/// Whether two figures differ by more than their standard errors explain.
fn disagree(a: [f64; 2], b: [f64; 2]) -> bool {
    (a[0] - b[0]).abs() > 2.0 * a[1].hypot(b[1])
}

/// Two figures with their standard errors, each weighed by its certainty.
fn combined(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [weight_a, weight_b] = [a[1], b[1]].map(|error| 1.0 / error.powi(2).max(1e-12));
    (a[0] * weight_a + b[0] * weight_b) / (weight_a + weight_b)
}

/// The place between these bounds at which a rising function has this value, or the nearest one. The function is expensive, and
/// nearly straight in most cases: so each second place is where a line between the bounds has the value, the others halve what
/// is left.
fn solved([mut low, mut high]: [f64; 2], function: impl Fn(f64) -> f64, wanted: f64) -> f64 {
    let off = |place: f64| function(place) - wanted;
    let mut at_low = off(low);
    if at_low >= 0.0 {
        return low;
    }
    let mut at_high = off(high);
    if at_high <= 0.0 {
        return high;
    }
    for step in 0..STEPS {
        let straight = low - at_low * (high - low) / (at_high - at_low);
        let place = if step % 2 == 0 { straight } else { f64::midpoint(low, high) };
        let at = off(place);
        if at.abs() < CLOSE * wanted.abs() || high - low < 1e-3 * CLOSE * high.abs() {
            return place;
        }
        let (bound, value) = if at < 0.0 { (&mut low, &mut at_low) } else { (&mut high, &mut at_high) };
        (*bound, *value) = (place, at);
    }
    f64::midpoint(low, high)
}
