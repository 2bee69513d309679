//! Warm and cold times of the same programs in one table, as Startup Showdown has them.

use super::terminal::{Terminal, columns as width_of, fitted};
use crate::document::bench::{Cache, Distribution, Measurement};
use crate::report::row::{UNKNOWN, name, ratio};
use firstbyte_measure::units::display_nanos;

/// Names are cut to this width.
const WIDEST_NAME: usize = 24;

/// The figures of one state: heading and value.
type Column = (&'static str, fn(&Distribution) -> f64);

const MEDIAN: fn(&Distribution) -> f64 = |times| times.median;
const RANGE: [Column; 2] = [("min", |times| times.min), ("max", |times| times.max)];

/// The width of a figure, and that of the growth.
const FIGURE: usize = 10;
const GROWTH: usize = 8;

/// A line for each program that was measured both warm (`base`) and cold (`no_cache`), in the order of its warm time;
/// `None` if there is no such program.
pub(super) fn render(
    conditions: &[(Option<Cache>, Vec<&Measurement>)],
    terminal: &Terminal,
) -> Option<String> {
    let of = |cache: Cache| conditions.iter().find(|(state, _)| *state == Some(cache)).map(|(_, rows)| rows);
    let (warm, cold) = (of(Cache::Warm)?, of(Cache::Cold)?);
    let same = |cold: &Measurement, warm: &Measurement| {
        (cold.label(), &cold.parameters) == (warm.label(), &warm.parameters)
    };
    let found = |warm: &Measurement| cold.iter().find(|cold| same(cold, warm)).copied();
    let pairs: Vec<(&Measurement, &Measurement)> =
        warm.iter().filter_map(|measurement| Some((*measurement, found(measurement)?))).collect();
    let width = pairs.iter().map(|(warm, _)| width_of(&name(warm))).max()?.min(WIDEST_NAME);
    // a narrow terminal has the medians only
    let ranges = [2, 1, 0].into_iter().find(|ranges| taken(width, *ranges) <= terminal.width).unwrap_or(0);
    let width = width.min(terminal.width.saturating_sub(taken(0, ranges)));
    let columns = |median: &'static str| [&[(median, MEDIAN)], &RANGE[..ranges]].concat();

    let title = "Warm (base) and cold (no_cache), first byte (or total, if there is none)";
    let mut text = terminal.bold(&terminal.wrap(title, 2)) + "\n";
    let headings = [columns("base"), columns("no_cache")].concat();
    text += &line("", width, headings.iter().map(|(heading, _)| (*heading).to_owned()), "×");
    for (warm, cold) in pairs {
        let of = |measurement| columns("").into_iter().map(move |(_, figure)| cell(measurement, figure));
        text += &line(&name(warm), width, of(warm).chain(of(cold)), &growth(warm, cold));
    }
    Some(text)
}

/// The width of a table with names of this width, and with this many figures for each state's range.
fn taken(name: usize, ranges: usize) -> usize {
    name + 2 * (1 + ranges) * FIGURE + GROWTH
}

fn line(name: &str, width: usize, cells: impl Iterator<Item = String>, growth: &str) -> String {
    let cells: Vec<String> = cells.map(|cell| format!("{cell:>FIGURE$}")).collect();
    format!("{}{}{growth:>GROWTH$}\n", fitted(name, width), cells.concat())
}

fn cell(measurement: &Measurement, figure: fn(&Distribution) -> f64) -> String {
    measurement.ranked().map_or_else(|| UNKNOWN.to_owned(), |times| display_nanos(figure(times)))
}

/// The cold median over the warm one.
fn growth(warm: &Measurement, cold: &Measurement) -> String {
    let medians = warm.ranked().zip(cold.ranked()).filter(|(warm, _)| warm.median > 0.0);
    medians.map_or_else(|| UNKNOWN.to_owned(), |(warm, cold)| ratio(cold.median / warm.median))
}
