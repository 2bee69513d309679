//! Several programs, one line each, as in the table of Hello World Overdone.

use crate::account::Summary;
use crate::account::summary::Spread;
use crate::report::text::terminal::{Terminal, columns, fitted};
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

const HEAD: [&str; 9] =
    ["calls", "procs", "threads", "faults", "files", "failed", "setup", "teardn", "total"];

pub fn table(rows: &[(String, Summary)], terminal: &Terminal) -> String {
    let width = rows.iter().map(|(name, _)| columns(name)).max().unwrap_or(0).clamp(8, 26);
    let mut head = fitted("", width);
    for title in HEAD {
        let _ = write!(head, "{title:>6}{}", if title == "total" { "" } else { " " });
    }
    let mut text = terminal.bold(head.trim_end()) + "\n";
    text.extend(rows.iter().map(|(name, summary)| line(&fitted(name, width), summary)));
    text
}

fn line(name: &str, summary: &Summary) -> String {
    let counts = &summary.counts;
    let faults = if counts.page_faults == 0 { "-".to_owned() } else { counts.page_faults.to_string() };
    let percent = |phase: Option<Spread>| match phase {
        Some(phase) => format!("{:.1}%", 100.0 * phase.median / summary.total.median.max(1.0)),
        None => "-".to_owned(),
    };
    format!(
        "{name}{:>6} {:>6} {:>7} {faults:>6} {:>6} {:>6} {:>6} {:>6} {}\n",
        counts.syscalls,
        counts.processes,
        counts.threads,
        counts.files_opened,
        counts.failed_opens,
        percent(summary.phases[Phase::Setup]),
        percent(summary.phases[Phase::Teardown]),
        display_nanos(summary.total.median)
    )
}
