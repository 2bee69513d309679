//! The first screen of a trace: what a person looks for first, in the lines that every terminal has.

use super::{first_byte, name_line, path, phase_bar, style};
use crate::account::Summary;
use crate::account::attribution::WorkKind;
use crate::account::notes::TraceNotes;
use crate::account::summary::CommonShare;
use crate::output::visible;
use crate::report::text::sparkline::{FEWEST, sparkline};
use crate::report::text::terminal::{Terminal, fitted, truncated};
use crate::report::words::runs;
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// The lines of the smallest usual terminal.
const LINES: usize = 24;
/// The most lines of the path, the costs and the findings.
const PATH: usize = 2;
const COSTS: usize = 5;
const FINDINGS: usize = 3;
/// The columns of the picture of the runs.
const RUNS: usize = 24;

/// What the traced runs alone say: the total, the phases, who worked, and the largest costs.
pub fn first_part(summary: &Summary, command: &str, terminal: &Terminal) -> String {
    let mut text = headline(summary, command, terminal);
    text += &several_runs(summary);
    text += &phase_bar(summary, terminal);
    text += &critical_path(summary, terminal);
    text + "\n" + &costs(summary, terminal)
}

/// The rest: what must be known, the most expensive findings, and where there is more.
pub fn second_part(summary: &Summary, notes: &TraceNotes, terminal: &Terminal) -> String {
    let before = first_part(summary, &notes.command, terminal).lines().count();
    let urgent = super::urgent(summary, notes, terminal);
    let more = more(notes, terminal);
    let taken = before + urgent.lines().count() + more.lines().count() + 2;
    let findings = findings(notes, LINES.saturating_sub(taken), terminal);

    let mut text = String::new();
    for part in [findings, urgent + &more].iter().filter(|part| !part.is_empty()) {
        text.push('\n');
        text += part;
    }
    text
}

fn headline(summary: &Summary, command: &str, terminal: &Terminal) -> String {
    let total = display_nanos(summary.total.middle);
    let line = format!("{total} from execve to exit; {}.", first_byte(summary));
    format!("{}{}\n", name_line(command, terminal), terminal.wrap(&line, 0))
}

/// How the totals of the runs are distributed.
fn several_runs(summary: &Summary) -> String {
    let others = summary.others.iter().map(|(account, _)| account.total.as_f64());
    let totals: Vec<f64> = others.chain([summary.median_run.total.as_f64()]).collect();
    if totals.len() < FEWEST {
        return String::new();
    }
    let (least, most) = (summary.total.least, summary.total.most);
    let picture = sparkline(&totals, [least, most], RUNS);
    format!("{}: {} {picture} {}\n", runs(totals.len()), display_nanos(least), display_nanos(most))
}

fn critical_path(summary: &Summary, terminal: &Terminal) -> String {
    let parts = path::parts(summary);
    if parts.len() < 2 {
        return String::new();
    }
    clipped(&format!("Critical path: {}", parts.join(", ")), 2, PATH, terminal)
}

/// The parts of the path that take longest, whatever their kind.
fn costs(summary: &Summary, terminal: &Terminal) -> String {
    let mut shares: Vec<&CommonShare> = summary.shares.iter().filter(|s| s.time.middle > 0.0).collect();
    shares.sort_by(|a, b| b.time.middle.total_cmp(&a.time.middle));
    let width = terminal.width.saturating_sub(20).max(20);
    let total = summary.total.middle.max(1.0);

    let mut text =
        terminal.bold(&format!("{}{:>10}{:>8}", fitted("Largest costs", width), "time", "%")) + "\n";
    for share in shares.into_iter().take(COSTS) {
        let (time, part) = (display_nanos(share.time.middle), 100.0 * share.time.middle / total);
        let line = format!("{}{time:>10}{part:>8.1}", fitted(&title(share), width));
        let _ = writeln!(text, "{}", terminal.paint(style(share.kind), &line));
    }
    text
}

fn title(share: &CommonShare) -> String {
    match share.kind {
        WorkKind::User => share.kind.title().to_owned(),
        kind => format!("{}: {}", kind.title(), share.name),
    }
}

/// Each finding has its part of the lines that are left, at least one.
fn findings(notes: &TraceNotes, lines: usize, terminal: &Terminal) -> String {
    let mut left = lines.saturating_sub(1);
    let shown = notes.findings.len().min(FINDINGS).min(left.max(1));
    if shown == 0 {
        return String::new();
    }
    let mut text = terminal.bold("Findings") + "\n";
    for (n, finding) in notes.findings.iter().take(shown).enumerate() {
        let most = (left / (shown - n)).max(1);
        let finding = clipped(&format!("{}. {}", n + 1, visible(finding)), 3, most, terminal);
        left = left.saturating_sub(finding.lines().count());
        text += &finding;
    }
    text
}

fn more(notes: &TraceNotes, terminal: &Terminal) -> String {
    let left = notes.findings.len().saturating_sub(FINDINGS);
    let findings = if left > 0 { format!("{left} more findings, ") } else { String::new() };
    let text = format!("--full: {findings}steps, functions, loads, files, processes, method");
    clipped(&text, 8, 1, terminal)
}

/// `text` in at most `most` lines. `…` stands for what does not fit.
fn clipped(text: &str, indent: usize, most: usize, terminal: &Terminal) -> String {
    let wrapped = terminal.wrap(text, indent);
    let mut lines: Vec<String> = wrapped.lines().take(most).map(str::to_owned).collect();
    if wrapped.lines().count() > most
        && let Some(last) = lines.last_mut()
    {
        *last = truncated(&format!("{last} …"), terminal.width);
    }
    lines.join("\n") + "\n"
}
