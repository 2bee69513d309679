//! The parts of the runs that have a name as bars: those of one name below each other.

use super::phase_bars::whole;
use super::terminal::{Terminal, columns, fitted};
use crate::document::Document;
use crate::document::bench::Measurement;
use crate::document::named_span::NamedSpan;
use crate::output::visible;
use crate::report::pictures::charts::name as name_among;
use firstbyte_measure::units::display_nanos;

/// The most names that are drawn.
const NAMES: usize = 8;

/// A bar for each part of each program, the first names only; empty if there are none.
pub(super) fn render(document: &Document, terminal: &Terminal) -> String {
    let rows = rows(document);
    let most = rows.iter().map(|(_, ns)| *ns).fold(1.0, f64::max);
    let widest = |of: &dyn Fn(&(String, f64)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let label_width = widest(&|(label, _)| columns(label)).min(terminal.width / 2);
    let time_width = widest(&|(_, ns)| columns(&display_nanos(*ns)));
    let width = terminal.width.saturating_sub(label_width + time_width + 2).max(4);

    let line = |(label, ns): &(String, f64)| {
        let bar = "█".repeat(whole(ns / most, width).max(1));
        format!("{} {bar:<width$} {:>time_width$}", fitted(label, label_width), display_nanos(*ns))
    };
    let title = (!rows.is_empty()).then(|| terminal.bold("Marks, medians"));
    title.into_iter().chain(rows.iter().map(line)).map(|line| line + "\n").collect()
}

/// What each bar is called, and how long it is in nanoseconds.
fn rows(document: &Document) -> Vec<(String, f64)> {
    let all: Vec<&Measurement> = document.results.iter().collect();
    let mut names: Vec<&str> = Vec::new();
    for span in all.iter().flat_map(|m| &m.marks) {
        if names.len() < NAMES && !names.contains(&&*span.name) {
            names.push(&span.name);
        }
    }
    let row = |m: &&Measurement, span: &NamedSpan| {
        let program =
            if all.len() > 1 { format!("  {}", visible(&name_among(m, &all))) } else { String::new() };
        (visible(&span.title()) + &program, span.times.median)
    };
    let of_name = |name: &&str| {
        let spans = all.iter().filter_map(|m| Some(row(m, m.marks.iter().find(|span| span.name == **name)?)));
        spans.collect::<Vec<_>>()
    };
    names.iter().flat_map(of_name).collect()
}
