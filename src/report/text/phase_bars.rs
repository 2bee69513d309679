//! The phases as bars of characters.

use super::terminal::{Terminal, columns, fitted_paths};
use crate::document::bench::Measurement;
use crate::report::palette::{character, style};
use crate::report::phase_row::{LARGEST_LINEAR_RATIO, PhaseRow};
use crate::report::row::name;
use firstbyte_measure::timeline::{PerPhase, Phase};
use firstbyte_measure::units::display_nanos;

/// Cells that are filled for a phase.
pub(crate) fn cells(phase: Phase, count: usize, terminal: &Terminal) -> String {
    terminal.paint(style(phase), &character(phase).to_string().repeat(count))
}

/// Converts a duration to the length of a bar.
enum Scale {
    Linear { to: f64 },
    Logarithmic { from: f64, to: f64 },
}

impl Scale {
    fn fit(bars: &[PhaseRow]) -> Scale {
        let ends = || bars.iter().map(PhaseRow::end);
        let (shortest, to) = (ends().fold(f64::INFINITY, f64::min).max(1.0), ends().fold(1.0, f64::max));
        if to / shortest <= LARGEST_LINEAR_RATIO {
            return Scale::Linear { to };
        }
        Scale::Logarithmic { from: round_below(shortest / 2.0), to }
    }

    /// The part of the width for a bar of `ns`.
    fn length(&self, ns: f64) -> f64 {
        match self {
            Scale::Linear { to } => ns / to,
            Scale::Logarithmic { from, to } => (ns.max(*from) / from).ln() / (to / from).ln(),
        }
    }

    fn description(&self) -> String {
        match self {
            Scale::Linear { to } => {
                format!("Linear scale, 0 to {}; a phase has at least one cell.", display_nanos(*to))
            }
            Scale::Logarithmic { from, to } => format!(
                "The length of a bar is its total on a logarithmic scale, {} to {}; within a bar each phase has \
                 its share of the total, at least one cell.",
                display_nanos(*from),
                display_nanos(*to)
            ),
        }
    }
}

/// The next of 1, 2, 5, 10, … at or below `ns`, at least 1.
fn round_below(ns: f64) -> f64 {
    let decade = 10_f64.powf(ns.max(1.0).log10().floor());
    [5.0, 2.0].iter().map(|step| step * decade).find(|step| *step <= ns).unwrap_or(decade)
}

/// The cells of each phase: its share of the bar, and at least one if the program has the phase. Together they have at
/// most `width`.
fn divided(bar: &PhaseRow, scale: &Scale, width: usize) -> PerPhase<usize> {
    let length = whole(scale.length(bar.end()), width);
    let mut begin = 0.0;
    let mut cells = PerPhase::from_fn(|phase| {
        let ns = bar.phases[phase];
        let share = ns / bar.end().max(1.0);
        let between = whole(begin + share, length).saturating_sub(whole(begin, length));
        begin += share;
        if ns > 0.0 { between.max(1) } else { 0 }
    });

    while sum(&cells) > length.max(Phase::ALL.len()) {
        let longest = Phase::ALL.into_iter().max_by_key(|phase| cells[*phase]).unwrap_or(Phase::Startup);
        cells[longest] -= 1;
    }
    cells
}

fn sum(cells: &PerPhase<usize>) -> usize {
    cells.iter().map(|(_, cells)| cells).sum()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to width, a terminal's
pub(super) fn whole(part: f64, width: usize) -> usize {
    (part.clamp(0.0, 1.0) * width as f64).round() as usize
}

/// The programs that have phases, by their names in tables.
pub(crate) fn rows(measured: &[&Measurement]) -> Vec<PhaseRow> {
    measured.iter().filter_map(|row| PhaseRow::measured(row, name(row))).collect()
}

/// A bar for each program and a legend; empty without programs. Names are cut to `name_width`.
pub(crate) fn render(bars: &[PhaseRow], name_width: usize, terminal: &Terminal) -> String {
    if bars.is_empty() {
        return String::new();
    }
    let scale = Scale::fit(bars);
    let total_width = bars.iter().map(|bar| columns(&display_nanos(bar.total))).max().unwrap_or(0);
    let width = terminal.width.saturating_sub(name_width + total_width + 2).max(4);
    let line = |bar: &PhaseRow| {
        let cells = drawn(&divided(bar, &scale, width), width, terminal);
        let total = display_nanos(bar.total);
        format!("{} {cells} {total:>total_width$}", fitted_paths(&bar.name, name_width))
    };
    let mut lines = vec![terminal.bold("Phases, medians")];
    lines.extend(bars.iter().map(line));
    lines.push(legend(&scale, terminal));
    lines.join("\n") + "\n"
}

fn drawn(bar: &PerPhase<usize>, width: usize, terminal: &Terminal) -> String {
    let text: String = bar.iter().map(|(phase, count)| cells(phase, *count, terminal)).collect();
    text + &" ".repeat(width.saturating_sub(sum(bar)))
}

fn legend(scale: &Scale, terminal: &Terminal) -> String {
    let sample = |phase| format!("{} {}", cells(phase, 2, terminal), Phase::name(phase));
    let samples = Phase::ALL.map(sample);
    format!("{}\n{}", samples.join("   "), terminal.wrap(&scale.description(), 0))
}

/// The width of the longest name, at most `most`.
pub(crate) fn name_width(rows: &[&Measurement], most: usize) -> usize {
    rows.iter().map(|row| columns(&name(row))).max().unwrap_or(0).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bar of these phases in order. The others take no time.
    fn bar(phases: &[f64]) -> PhaseRow {
        let length = |phase| phases.get(phase as usize).copied().unwrap_or_default();
        PhaseRow { name: "p".to_owned(), total: phases.iter().sum(), phases: PerPhase::from_fn(length) }
    }

    fn cells_of(bar: &PhaseRow, scale: &Scale, width: usize) -> Vec<usize> {
        divided(bar, scale, width).iter().map(|(_, cells)| *cells).collect()
    }

    #[test]
    fn linear_cells_are_proportional() {
        let bars = [bar(&[10.0, 20.0, 10.0, 40.0]), bar(&[10.0, 0.0, 0.0, 10.0])];
        let scale = Scale::fit(&bars);
        assert_eq!(cells_of(&bars[0], &scale, 80)[..4], [10, 20, 10, 40]);
        assert_eq!(cells_of(&bars[1], &scale, 80)[..4], [10, 0, 0, 10]);
    }

    #[test]
    fn every_phase_has_a_cell_and_no_bar_is_wider_than_its_room() {
        let (mut long, mut short) = (Phase::ALL.map(|_| 1.0), Phase::ALL.map(|_| 1.0));
        (long[0], long[Phase::ALL.len() - 1], short[1]) = (1e6, 1e6, 1e6);
        let bars = [bar(&long), bar(&short)];
        for width in [Phase::ALL.len(), 10, 60] {
            for bar in &bars {
                let cells = cells_of(bar, &Scale::fit(&bars), width);
                assert!(cells.iter().all(|c| *c > 0) && cells.iter().sum::<usize>() <= width, "{cells:?}");
            }
        }
    }

    #[test]
    fn totals_far_apart_get_a_logarithmic_scale() {
        let bars = [bar(&[70e3, 10e3, 3e3, 20e3]), bar(&[400e3, 40e6, 10e3, 2e6])];
        let scale = Scale::fit(&bars);
        assert!(
            scale.description().contains("logarithmic scale, 50.0 µs to 42.4 ms"),
            "{}",
            scale.description()
        );
        // setup has 40.0 of 42.4 ms, so 94 cells, less the one for `write`
        assert_eq!(cells_of(&bars[1], &scale, 100)[..4], [1, 93, 1, 5]);
    }

    #[test]
    fn a_scale_begins_at_a_round_number_below() {
        assert_eq!(
            [0.0, 1.0, 3.0, 7.0, 35e3, 999.0].map(|n| round_below(n).to_string()),
            ["1", "1", "2", "5", "20000", "500"]
        );
    }

    #[test]
    fn no_two_phases_have_the_same_colour() {
        for (index, phase) in Phase::ALL.into_iter().enumerate() {
            assert!(Phase::ALL[index + 1..].iter().all(|other| style(*other) != style(phase)));
        }
    }
}
