//! What all renderings of the floor share: columns, durations, titles of groups.

use crate::document::floor::{Figure, Group};
use crate::report::text::terminal::Terminal;
use anstyle::{AnsiColor, Style};
use firstbyte_measure::units::display_nanos;

/// The title of a group's table.
pub(crate) fn title(group: Group) -> &'static str {
    match group {
        Group::Syscalls => "System calls and clocks, per call",
        Group::Processes => "Procedure call, threads, processes",
        Group::Faults => "Page faults, libraries, relocations",
        Group::Shells => "Shell builtins",
        Group::Prints => "The first and the hundredth print",
        Group::Waterfall => "Waterfall",
    }
}

/// Heading and cell.
pub(crate) type Column = (&'static str, fn(&Figure) -> String);

/// The columns of numbers, in order.
pub(crate) const COLUMNS: [Column; 5] = [
    ("median", |figure| duration(figure.median)),
    ("min", |figure| duration(figure.min)),
    ("p99", |figure| duration(figure.p99)),
    ("mean", |figure| duration(figure.mean)),
    ("spread", |figure| format!("{:.1} %", figure.spread * 100.0)),
];

/// Durations below 100 ns have a digit after the point.
pub(crate) fn duration(ns: f64) -> String {
    if ns.abs() < 99.95 { format!("{ns:.1} ns") } else { display_nanos(ns) }
}

/// Noisy figures are grey.
pub(crate) fn grey_if(noisy: bool, text: &str, terminal: &Terminal) -> String {
    if !noisy {
        return text.to_owned();
    }
    terminal.paint(Style::new().fg_color(Some(AnsiColor::BrightBlack.into())), text)
}
