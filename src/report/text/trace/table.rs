//! Several programs, one line each, as in the table of Hello World Overdone.

use crate::analysis::Summary;
use crate::report::row::percent;
use crate::report::text::terminal::{Terminal, columns, fitted_paths};
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::display_nanos;

/// A column: its heading, its width with the gap before it, and its cell.
struct Column {
    heading: &'static str,
    width: usize,
    cell: fn(&Summary) -> String,
}

/// In the order of the table.
static COLUMNS: [Column; 9] = [
    Column { heading: "calls", width: 7, cell: |summary| summary.counts.syscalls.to_string() },
    Column { heading: "procs", width: 7, cell: |summary| summary.counts.processes.to_string() },
    Column { heading: "threads", width: 8, cell: |summary| summary.counts.threads.to_string() },
    Column { heading: "faults", width: 7, cell: faults },
    Column { heading: "files", width: 7, cell: |summary| summary.counts.files_opened.to_string() },
    Column { heading: "failed", width: 7, cell: |summary| summary.counts.failed_opens.to_string() },
    Column { heading: "setup", width: 7, cell: |summary| share(summary, Phase::Setup) },
    Column { heading: "teardn", width: 7, cell: |summary| share(summary, Phase::Teardown) },
    Column { heading: "total", width: 9, cell: |summary| display_nanos(summary.total.median) },
];

/// Where there is no room for all, these are left out, the first of them first.
const LEAST: [&str; 4] = ["failed", "threads", "procs", "teardn"];

/// Names have at least so much room, if they are so long.
const NARROWEST_NAME: usize = 14;
const WIDEST_NAME: usize = 26;

pub fn table(rows: &[(String, Summary)], terminal: &Terminal) -> String {
    let wanted = rows.iter().map(|(name, _)| columns(name)).max().unwrap_or(0).clamp(8, WIDEST_NAME);
    let (chosen, width) = fitting(wanted, terminal.width);
    let line = |name: &str, cell: &dyn Fn(&Column) -> String| {
        let cells: Vec<String> =
            chosen.iter().map(|column| format!("{:>width$}", cell(column), width = column.width)).collect();
        fitted_paths(name, width) + &cells.concat()
    };

    let head = line("", &|column| column.heading.to_owned());
    let mut text = terminal.bold(&head) + "\n";
    for (name, summary) in rows {
        text += &line(name, &|column| (column.cell)(summary));
        text.push('\n');
    }
    text
}

/// The columns for which there is room, and the room that they leave for names.
fn fitting(wanted: usize, width: usize) -> (Vec<&'static Column>, usize) {
    let mut chosen: Vec<&Column> = COLUMNS.iter().collect();
    let left =
        |chosen: &[&Column]| width.saturating_sub(chosen.iter().map(|column| column.width).sum::<usize>());
    for least in LEAST {
        if left(&chosen) >= wanted.min(NARROWEST_NAME) {
            break;
        }
        chosen.retain(|column| column.heading != least);
    }
    let room = left(&chosen).clamp(1, wanted);
    (chosen, room)
}

fn faults(summary: &Summary) -> String {
    match summary.counts.page_faults {
        0 => "-".to_owned(),
        faults => faults.to_string(),
    }
}

fn share(summary: &Summary, phase: Phase) -> String {
    let of_total = |median: f64| percent(median / summary.total.median.max(1.0));
    summary.phases[phase].map_or("-".to_owned(), |spread| of_total(spread.median))
}
