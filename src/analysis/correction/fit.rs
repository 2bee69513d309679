//! How much the observation cost in these runs, as a multiple of the calibrated costs.

use super::costs::ObserverCosts;
use super::lags::Lags;
use crate::analysis::runs::ObservedRuns;
use crate::bench::BothKinds;
use crate::stats::median_of;
use firstbyte_measure::tracer::event::OffCpu;
use firstbyte_measure::tracer::{Event, EventKind, Recording};

/// How uncertain the calibrated overhead is, as a part of itself: the events of a program do not follow each other as those of
/// the calibration do.
const CALIBRATION_ERROR: f64 = 0.25;

/// Events do not cost more than this many times what calibration says. What runs take longer beyond that has other reasons.
const MAX_SCALE: f64 = 2.0;
/// An untraced launch takes about this many nanoseconds: vfork, and the death and the reaping of the smallest program.
const UNTRACED_LAUNCH: f64 = 60_000.0;
/// A stop takes less than this many nanoseconds.
const MAX_STOP: f64 = 1e6;

/// How often the fit halves what is left between its bounds.
const HALVINGS: u32 = 24;

/// The multiple; `None` if nothing is known of it. By calibration it is 1. The traced runs over the untraced ones beside them
/// say how much longer the whole run took, and each of the two counts as much as it is certain. What a stop costs is known
/// from these runs alone.
pub(super) fn scale(observed: &ObservedRuns, costs: &ObserverCosts, stops: bool) -> Option<f64> {
    let Some(measured) = overhead(observed) else { return (!stops).then_some(1.0) };
    let recording = typical(observed)?;
    let lags = Lags::of(recording);
    if stops {
        let total = |scale: f64| lags.total(recording, &costs.scaled(scale));
        return Some(solved(|scale| -total(scale), -untraced_total(measured.untraced), MAX_STOP));
    }

    let taken = preempted(recording);
    let worked = |scale: f64| (lags.wall(recording, &costs.scaled(scale)) - taken).max(1.0);
    let none = worked(0.0);
    let more = |scale: f64| none / worked(scale) - 1.0;
    let predicted = more(1.0);
    let wanted = combined([predicted, CALIBRATION_ERROR * predicted], [measured.more, measured.error]);
    Some(solved(more, wanted, MAX_SCALE))
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
    /// The median wall time of the untraced runs, in nanoseconds.
    untraced: f64,
}

/// Untraced runs of a cold program are warm, so these say nothing.
fn overhead(observed: &ObservedRuns) -> Option<Measured> {
    if observed.cold.is_some() {
        return None;
    }
    let untraced = median_of(&observed.untraced)?;
    if let Some(overhead) = BothKinds::overhead(&observed.blocks) {
        let interval = overhead.interval;
        // a 95 % interval is four standard errors wide
        return Some(Measured {
            more: overhead.ratio - 1.0,
            error: (interval.high - interval.low) / 4.0,
            untraced,
        });
    }
    let more = median_of(&observed.traced)? / untraced.max(1.0) - 1.0;
    Some(Measured { more, error: f64::INFINITY, untraced })
}

/// The recording whose wall time is the median.
fn typical(observed: &ObservedRuns) -> Option<&Recording> {
    let mut by_wall: Vec<(f64, &Recording)> =
        observed.traced.iter().copied().zip(&observed.recordings).collect();
    by_wall.sort_by(|a, b| a.0.total_cmp(&b.0));
    by_wall.get(by_wall.len() / 2).map(|(_, recording)| *recording).or(observed.recordings.first())
}

/// Two figures with their standard errors, each weighed by its certainty.
fn combined(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [weight_a, weight_b] = [a[1], b[1]].map(|error| 1.0 / error.powi(2).max(1e-12));
    (a[0] * weight_a + b[0] * weight_b) / (weight_a + weight_b)
}

/// The scale up to `most` at which a rising function has this value, or the nearest one.
fn solved(ratio: impl Fn(f64) -> f64, wanted: f64, most: f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let bound = if ratio(middle) < wanted { &mut low } else { &mut high };
        *bound = middle;
        if high - low < 1e-3 * high {
            break;
        }
    }
    f64::midpoint(low, high)
}
