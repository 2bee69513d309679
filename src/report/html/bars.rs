//! Bars, most of them stacked: durations as parts of a width.

use super::block::{Bar, BarPiece};
use crate::report::phase_row::{LARGEST_LINEAR_RATIO, PhaseRow};
use firstbyte_measure::units::display_nanos;

/// Converts durations to lengths of bars.
pub(super) struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    pub(super) fn of(rows: &[PhaseRow]) -> Scale {
        let ends: Vec<f64> = rows.iter().map(PhaseRow::end).collect();
        Scale::over(&ends)
    }

    /// For bars of these durations, in nanoseconds.
    pub(super) fn over(all: &[f64]) -> Scale {
        let ends = || all.iter().map(|ns| ns.max(1.0));
        let to = ends().fold(1.0, f64::max);
        Scale { from: ends().fold(to, f64::min).max(1.0) / 2.0, to }
    }

    /// The scale that shows all bars best: its class in the style of the page, and in words.
    pub(super) fn best(&self) -> (&'static str, String) {
        if self.to / (2.0 * self.from) <= LARGEST_LINEAR_RATIO {
            return ("linear", format!("Linear scale, 0 to {}.", display_nanos(self.to)));
        }
        let [from, to] = [self.from, self.to].map(display_nanos);
        ("logarithmic", format!("The length of a bar is its total on a logarithmic scale, {from} to {to}."))
    }

    /// A duration without phases, in nanoseconds.
    pub(super) fn plain(&self, ns: f64) -> Bar {
        let piece = |width: f64| vec![BarPiece { fill: "path", x: 0.0, width: rounded(width.max(SEEN)) }];
        Bar {
            label: display_nanos(ns),
            logarithmic: piece(self.logarithmic(ns)),
            linear: piece(WIDTH * ns / self.to),
            share: Vec::new(),
        }
    }

    /// The length of a bar on the logarithmic scale, in percent.
    fn logarithmic(&self, ns: f64) -> f64 {
        let share = (ns.max(self.from) / self.from).ln() / (self.to / self.from).ln().max(f64::EPSILON);
        WIDTH * share.clamp(0.0, 1.0)
    }

    pub(super) fn bar(&self, row: &PhaseRow) -> Bar {
        let total = row.end().max(1.0);
        let known = row.phases.iter().filter(|(_, ns)| **ns > 0.0);
        let shown: Vec<String> =
            known.map(|(phase, ns)| format!("{} {}", phase.name(), display_nanos(*ns))).collect();
        Bar {
            label: shown.join(", "),
            logarithmic: pieces(row, self.logarithmic(total)),
            linear: pieces(row, WIDTH * total / self.to),
            share: pieces(row, WIDTH),
        }
    }
}

/// The whole width, in percent.
const WIDTH: f64 = 100.0;
/// The smallest width of a phase.
const SEEN: f64 = 0.6;

/// The part of each phase in a bar of that length, wide enough to be visible. The longest gives way to the others.
fn pieces(row: &PhaseRow, length: f64) -> Vec<BarPiece> {
    let total = row.end().max(1.0);
    let parts = row.phases.iter().filter(|(_, ns)| **ns > 0.0);
    let mut parts: Vec<(&'static str, f64)> =
        parts.map(|(phase, ns)| (phase.name(), (ns / total * length).max(SEEN))).collect();
    let excess = parts.iter().map(|(_, width)| width).sum::<f64>() - length;
    if let Some((_, longest)) = parts.iter_mut().max_by(|a, b| a.1.total_cmp(&b.1)) {
        *longest = (*longest - excess.max(0.0)).max(SEEN);
    }

    let (mut x, mut pieces) = (0.0, Vec::new());
    for (fill, width) in parts {
        pieces.push(BarPiece { fill, x: rounded(x), width: rounded(width) });
        x += width;
    }
    pieces
}

/// Hundredths are finer than a pixel.
pub(super) fn rounded(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::timeline::PerPhase;

    fn row(lengths: [f64; 4]) -> PhaseRow {
        let phases = PerPhase::from_fn(|phase| lengths.get(phase as usize).copied().unwrap_or_default());
        PhaseRow { name: String::new(), phases, total: 0.0 }
    }

    #[test]
    fn the_pieces_of_a_bar_are_contiguous_and_visible() {
        let pieces = pieces(&row([10.0, 1e6, 0.0, 5.0]), WIDTH);
        assert_eq!(pieces.len(), 3);
        assert!(pieces.iter().all(|piece| piece.width >= SEEN));
        assert!(pieces.windows(2).all(|p| (p[0].x + p[0].width - p[1].x).abs() < 0.02));
        let end = pieces.iter().map(|piece| piece.x + piece.width).fold(0.0, f64::max);
        assert!((end - WIDTH).abs() < 0.02, "it ends with the bar: {end}");
    }

    #[test]
    fn totals_far_apart_get_a_logarithmic_scale() {
        let near = Scale::of(&[row([1.0, 9.0, 0.0, 0.0]), row([0.0, 100.0, 0.0, 0.0])]);
        let far = Scale::of(&[row([1.0, 9.0, 0.0, 0.0]), row([0.0, 1000.0, 0.0, 0.0])]);
        assert_eq!([near.best().0, far.best().0], ["linear", "logarithmic"]);
    }
}
