//! Verdicts as a forest plot: each ratio with its interval.

use super::bars::rounded;
use super::block::{Forest, ForestRow};
use crate::document::bench::{Measurement, Metric, Ratio, Relative};
use crate::output::visible;
use crate::report::pictures::charts::name;
use crate::report::row::fine_ratio;
use crate::stats::Verdict;
use crate::stats::comparing::MIN_PAIRS;

/// A ratio before it has a place.
struct Judged {
    name: String,
    ratio: Ratio,
    verdict: &'static str,
    text: String,
}

/// The comparisons with the reference, or else with the floor; `None` without either.
pub(super) fn forest(all: &[&Measurement], by: Metric) -> Option<Forest> {
    let compared: Vec<(&Measurement, &Relative)> =
        all.iter().filter_map(|m| Some((*m, m.relative_by(by)?))).collect();
    if let Some((_, first)) = compared.first() {
        let title = format!("Compared with `{}` by {}", visible(&first.reference), first.of.name());
        let note = "Ratios of paired runs with their 99 % intervals, on a logarithmic scale. Left of the line at 1 is faster.";
        return drawn(title, note, compared.iter().map(|(m, relative)| judged(m, relative, all)).collect());
    }

    let floors = || all.iter().filter_map(|m| Some((*m, m.floor_ratio.as_ref()?)));
    let title = format!("Compared with the floor, `{}`", visible(&floors().next()?.1.floor));
    let note = "Ratios of paired runs with their intervals, on a logarithmic scale.";
    let rows = floors().map(|(m, floor)| Judged {
        name: visible(&name(m, all)),
        ratio: floor.ratio,
        verdict: "unknown",
        text: figures(&floor.ratio),
    });
    drawn(title, note, rows.collect())
}

/// Ratios of two files, each with the name of its program.
pub(super) fn of_ratios(title: String, all: Vec<(String, Ratio, Verdict)>) -> Option<Forest> {
    let note = "Ratios of the medians with their 99 % intervals, on a logarithmic scale. Left of the line at 1 is faster.";
    drawn(
        title,
        note,
        all.into_iter().map(|(name, ratio, verdict)| of_verdict(name, ratio, verdict)).collect(),
    )
}

fn judged(m: &Measurement, relative: &Relative, all: &[&Measurement]) -> Judged {
    of_verdict(visible(&name(m, all)), relative.ratio, relative.verdict)
}

fn of_verdict(name: String, ratio: Ratio, verdict: Verdict) -> Judged {
    let class = match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::CantTell => "unknown",
    };
    let few = if ratio.pairs < MIN_PAIRS && verdict == Verdict::CantTell { ": too few runs" } else { "" };
    let text = format!("{verdict}{few}, {}", figures(&ratio));
    Judged { name, ratio, verdict: class, text }
}

/// A ratio and its interval.
pub(super) fn figures(ratio: &Ratio) -> String {
    let [middle, low, high] = [ratio.ratio, ratio.low, ratio.high].map(fine_ratio);
    format!("{middle} × ({low} to {high})")
}

fn drawn(title: String, note: &str, all: Vec<Judged>) -> Option<Forest> {
    let axis = Axis::of(&all)?;
    let row = |judged: Judged| ForestRow {
        low: axis.position(judged.ratio.low),
        ratio: axis.position(judged.ratio.ratio),
        high: axis.position(judged.ratio.high),
        name: judged.name,
        verdict: judged.verdict,
        text: judged.text,
    };
    let (ticks, one) = (axis.ticks(), axis.position(1.0));
    let rows = all.into_iter().map(row).collect();
    Some(Forest { title, rows, ticks, one, note: note.to_owned() })
}

/// Ratios as places from 0 to 100, logarithmically.
struct Axis {
    from: f64,
    to: f64,
}

/// What remains free at either end, in percent.
const MARGIN: f64 = 4.0;
/// Two numbers at the axis are at least this far apart, in percent.
const MIN_DISTANCE_PERCENT: f64 = 14.0;
/// The smallest ratio that is drawn.
const SMALLEST: f64 = 1e-6;

impl Axis {
    /// From the lowest to the highest end of an interval, with 1 among them.
    fn of(all: &[Judged]) -> Option<Axis> {
        let ends = || all.iter().flat_map(|judged| [judged.ratio.low, judged.ratio.high, judged.ratio.ratio]);
        let finite = || ends().filter(|ratio| ratio.is_finite()).map(|ratio| ratio.max(SMALLEST));
        let (from, to) = (finite().fold(1.0, f64::min), finite().fold(1.0, f64::max));
        // intervals that are all 1 have no width
        (!all.is_empty()).then_some(Axis { from, to: to.max(from * 1.01) })
    }

    fn position(&self, ratio: f64) -> f64 {
        let share = (ratio.max(SMALLEST) / self.from).ln() / (self.to / self.from).ln();
        rounded(MARGIN + share.clamp(0.0, 1.0) * (100.0 - 2.0 * MARGIN))
    }

    /// 1, then the ends, then round numbers between them, as far as there is room.
    fn ticks(&self) -> Vec<(f64, String)> {
        let round = (-3..6).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power)));
        let within = round.filter(|tick| (self.from..=self.to).contains(tick));
        let mut ticks: Vec<(f64, String)> = Vec::new();
        for ratio in [1.0, self.from, self.to].into_iter().chain(within) {
            let position = self.position(ratio);
            if ticks.iter().all(|(other, _)| (other - position).abs() >= MIN_DISTANCE_PERCENT) {
                ticks.push((position, fine_ratio(ratio)));
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(low: f64, ratio: f64, high: f64) -> Judged {
        let ratio = Ratio { ratio, low, high, pairs: 9 };
        Judged { name: String::new(), ratio, verdict: "slower", text: String::new() }
    }

    #[test]
    fn the_line_at_one_is_always_on_the_axis() {
        for all in [vec![judged(1.02, 1.03, 1.04)], vec![judged(0.2, 0.5, 0.9)], vec![judged(1.0, 1.0, 1.0)]]
        {
            let forest = drawn(String::new(), "", all).unwrap();
            assert!((0.0..=100.0).contains(&forest.one), "{forest:?}");
            let is_one = |tick: &(f64, String)| (tick.0 - forest.one).abs() < 1e-9 && tick.1 == "1.000";
            assert!(forest.ticks.iter().any(is_one), "{forest:?}");
            assert!(forest.rows.iter().all(|row| row.low <= row.ratio && row.ratio <= row.high));
        }
        assert!(drawn(String::new(), "", Vec::new()).is_none());
    }

    #[test]
    fn odd_ratios_have_a_place() {
        let odd = vec![judged(0.0, f64::INFINITY, f64::INFINITY), judged(-1.0, 0.0, 1e9)];
        let forest = drawn(String::new(), "", odd).unwrap();
        let positions = forest.rows.iter().flat_map(|row| [row.low, row.ratio, row.high]);
        assert!(positions.into_iter().all(|position| (0.0..=100.0).contains(&position)), "{forest:?}");
    }
}
