//! Warm and cold times of the same programs in one table, as Startup Showdown has them.

use super::terminal::{Terminal, columns as width_of, truncated};
use crate::document::bench::{Cache, Distribution, Measurement};
use crate::report::row::{UNKNOWN, name, ratio};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// Names are cut to this width.
const WIDEST_NAME: usize = 24;

/// The headings, and the widths of their columns.
const COLUMNS: [(&str, usize); 6] =
    [("base", 10), ("min", 10), ("max", 10), ("no_cache", 10), ("min", 10), ("max", 10)];

/// A line for each program that was measured both warm (`base`) and cold (`no_cache`), in the order of its warm time;
/// `None` if there is no such program.
pub(super) fn render(
    conditions: &[(Option<Cache>, Vec<&Measurement>)],
    terminal: &Terminal,
) -> Option<String> {
    let of = |cache: Cache| conditions.iter().find(|(state, _)| *state == Some(cache)).map(|(_, rows)| rows);
    let (warm, cold) = (of(Cache::Warm)?, of(Cache::Cold)?);
    let found = |own: &Measurement| cold.iter().find(|cold| cold.label() == own.label()).copied();
    let pairs: Vec<(&Measurement, &Measurement)> =
        warm.iter().filter_map(|own| Some((*own, found(own)?))).collect();
    let width = pairs.iter().map(|(warm, _)| width_of(&name(warm))).max()?.min(WIDEST_NAME);

    let mut text =
        terminal.bold("Warm (base) and cold (no_cache), first byte (or total, if there is none)") + "\n";
    text += &line("", width, &COLUMNS.map(|(heading, _)| heading.to_owned()), "×");
    for (warm, cold) in pairs {
        let [a, b] = [warm, cold].map(cells);
        let cells: [String; 6] = [&a[..], &b[..]].concat().try_into().unwrap_or_default();
        text += &line(&truncated(&name(warm), width), width, &cells, &growth(warm, cold));
    }
    Some(text)
}

fn line(name: &str, width: usize, cells: &[String; 6], growth: &str) -> String {
    let mut line = format!("{name}{}", " ".repeat(width.saturating_sub(width_of(name))));
    for (cell, (_, width)) in cells.iter().zip(COLUMNS) {
        let _ = write!(line, "{cell:>width$}");
    }
    let _ = writeln!(line, "{growth:>8}");
    line
}

/// The median, the minimum and the maximum.
fn cells(measurement: &Measurement) -> [String; 3] {
    let of = |figure: fn(&Distribution) -> f64| {
        measurement.ranked().map_or_else(|| UNKNOWN.to_owned(), |times| display_nanos(figure(times)))
    };
    [of(|d| d.median), of(|d| d.min), of(|d| d.max)]
}

/// The cold median over the warm one.
fn growth(warm: &Measurement, cold: &Measurement) -> String {
    let medians = warm.ranked().zip(cold.ranked()).filter(|(warm, _)| warm.median > 0.0);
    medians.map_or_else(|| UNKNOWN.to_owned(), |(warm, cold)| ratio(cold.median / warm.median))
}
