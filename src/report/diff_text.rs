//! Two start-ups side by side, for a terminal.

use super::terminal::{Terminal, fitted, truncated, visible};
use super::trace_text::style;
use crate::trace::Summary;
use crate::trace::attribution::Kind;
use crate::trace::difference::{Amount, Change, Difference};
use crate::units::display_nanos;
use anstyle::{AnsiColor, Color, Style};
use std::fmt::Write;

/// The most lines of each section.
const LINES: usize = 12;
/// Changes of the time alone are shown from this part of the greater total on.
const NOTEWORTHY: f64 = 0.01;

/// Both start-ups: their names and summaries.
pub fn render(first: (&str, &Summary), second: (&str, &Summary), terminal: &Terminal) -> String {
    let difference = Difference::between(first.1, second.1);
    let least = NOTEWORTHY * first.1.total.median.max(second.1.total.median);
    let mut text = headline(first, second, terminal);
    text += &kinds(&difference, least, terminal);
    let told = |changes: &[Change]| -> Vec<Change> {
        changes.iter().filter(|change| change.is_structural()).cloned().collect()
    };
    text += &section("Steps of the main thread that came or went", &difference.steps, terminal);
    text += &section("Files that came, went or are used differently", &told(&difference.files), terminal);
    text += &section("Programs executed that came or went", &told(&difference.programs), terminal);
    text += &counts(first.1, second.1, terminal);
    text
}

fn headline(first: (&str, &Summary), second: (&str, &Summary), terminal: &Terminal) -> String {
    let width = terminal.width.saturating_sub(16).max(10);
    let line = |letter: &str, (name, summary): (&str, &Summary)| {
        let total = display_nanos(summary.total.median);
        format!("{} {} {total:>12}\n", terminal.bold(letter), fitted(name, width))
    };
    let (a, b) = (first.1.total.median, second.1.total.median);
    let verdict = format!("B takes {} against A: {:.3} times as long.", signed(b - a), b / a.max(1.0));
    format!("{}{}{}\n\n", line("A", first), line("B", second), terminal.wrap(&verdict, 0))
}

/// A difference with its sign.
fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, display_nanos(ns.abs()))
}

fn kinds(difference: &Difference, least: f64, terminal: &Terminal) -> String {
    let width = terminal.width.saturating_sub(46).max(16);
    let title = fitted("Where the difference lies", width);
    let mut text =
        terminal.bold(&format!("{title}{:>10}{:>10}{:>11}{:>15}", "A", "B", "change", "steps")) + "\n";
    for (kind, a, b) in &difference.kinds {
        if a.count == 0.0 && b.count == 0.0 {
            continue;
        }
        text += &terminal.paint(style(*kind), &row(kind.title(), width, *a, *b));
        text.push('\n');
        text += &parts(difference, *kind, least, width);
    }
    text.push('\n');
    text
}

fn parts(difference: &Difference, wanted: Kind, least: f64, width: usize) -> String {
    let of_kind = difference.shares.iter().filter(|(kind, _)| *kind == wanted).map(|(_, change)| change);
    let noteworthy = of_kind.filter(|change| change.difference().abs() >= least);
    let mut text = String::new();
    for change in noteworthy.take(LINES) {
        let name = format!("  {}", change.name);
        text += &row(&name, width, change.before.unwrap_or_default(), change.after.unwrap_or_default());
        text.push('\n');
    }
    text
}

fn row(name: &str, width: usize, a: Amount, b: Amount) -> String {
    let steps = format!("{:.0} → {:.0}", a.count, b.count);
    format!(
        "{}{:>10}{:>10}{:>11}{steps:>15}",
        fitted(name, width),
        display_nanos(a.time),
        display_nanos(b.time),
        signed(b.time - a.time)
    )
}

fn section(title: &str, changes: &[Change], terminal: &Terminal) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let width = terminal.width.saturating_sub(29).max(20);
    let mut text = terminal.bold(&format!("{title}: {}", changes.len())) + "\n";
    for change in changes.iter().take(LINES) {
        let (sign, colour) = match (change.before, change.after) {
            (None, _) => ('+', AnsiColor::Green),
            (_, None) => ('-', AnsiColor::Red),
            _ => ('~', AnsiColor::Yellow),
        };
        let count = |amount: Option<Amount>| amount.map_or(0.0, |a| a.count);
        let counts = format!("{:.0} → {:.0}", count(change.before), count(change.after));
        let name = truncated(&visible(&change.name), width);
        let line = format!("{sign} {:>10}{counts:>14}  {name}", signed(change.difference()));
        let _ = writeln!(text, "{}", terminal.paint(Style::new().fg_color(Some(Color::Ansi(colour))), &line));
    }
    if changes.len() > LINES {
        let rest = &changes[LINES..];
        let sum: f64 = rest.iter().map(Change::difference).sum();
        let _ = writeln!(text, "  {:>10}{:>14}  {} others", signed(sum), "", rest.len());
    }
    text.push('\n');
    text
}

fn counts(first: &Summary, second: &Summary, terminal: &Terminal) -> String {
    let (a, b) = (&first.reference.counts, &second.reference.counts);
    // where one side's were not seen, nothing is said of them
    let faults = first.reference.page_faults().zip(second.reference.page_faults()).unwrap_or_default();
    let all = [
        ("system calls", a.syscalls, b.syscalls),
        ("page faults", faults.0, faults.1),
        ("opened files", a.files_opened, b.files_opened),
        ("failed opens", a.failed_opens, b.failed_opens),
        ("bytes read", a.bytes_read, b.bytes_read),
        ("processes", a.processes, b.processes),
        ("threads", a.threads, b.threads),
        ("execs", a.execs, b.execs),
    ];
    let shown: Vec<String> =
        all.iter().filter(|(_, a, b)| a != b).map(|(name, a, b)| format!("{name} {a} → {b}")).collect();
    let line = if shown.is_empty() {
        "Counts of all threads and processes: the same.".to_owned()
    } else {
        format!("Counts of all threads and processes: {}.", shown.join(", "))
    };
    terminal.wrap(&line, 2) + "\n"
}
