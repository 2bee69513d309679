//! How a figure of the floor is shown, whatever the form: its columns, its durations, its group's title.

use crate::document::floor::{Figure, Group};
use crate::report::text::terminal::Terminal;
use anstyle::{AnsiColor, Style};
use firstbyte_measure::units::display_nanos;

/// What a group's table is called.
pub(crate) fn title(group: Group) -> &'static str {
    match group {
        Group::Syscalls => "System calls and clocks, a call",
        Group::Processes => "Procedure call, threads, processes, each",
        Group::Faults => "Page faults, libraries, relocations, each",
        Group::Shells => "Shell builtins, each",
        Group::Prints => "The first and the hundredth print",
        Group::Waterfall => "Waterfall",
    }
}

/// The columns of numbers: heading, cell.
type Column = (&'static str, fn(&Figure) -> String);

/// The figures of a row, in this order.
pub(crate) const COLUMNS: [Column; 5] = [
    ("median", |figure| duration(figure.median)),
    ("min", |figure| duration(figure.min)),
    ("p99", |figure| duration(figure.p99)),
    ("mean", |figure| duration(figure.mean)),
    ("spread", |figure| format!("{:.1} %", figure.spread * 100.0)),
];

/// Short durations with a digit after the point: whole nanoseconds are coarse below a hundred.
pub(crate) fn duration(ns: f64) -> String {
    if ns.abs() < 99.95 { format!("{ns:.1} ns") } else { display_nanos(ns) }
}

/// What is noise as much as a figure is grey.
pub(crate) fn grey_if(noisy: bool, text: &str, terminal: &Terminal) -> String {
    if !noisy {
        return text.to_owned();
    }
    terminal.paint(Style::new().fg_color(Some(AnsiColor::BrightBlack.into())), text)
}
