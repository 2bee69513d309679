//! Two start-ups side by side, for a terminal.

use super::terminal::{Terminal, columns, fitted, fitted_paths, truncated_paths};
use crate::analysis::Summary;
use crate::analysis::attribution::WorkKind;
use crate::analysis::difference::{Amount, Change, Compared, Difference, Side};
use crate::output::visible;
use crate::report::text::trace::style;
use crate::stats::comparing::MIN_PAIRS;
use crate::stats::{Comparison, Verdict};
use anstyle::{AnsiColor, Color, Style};
use firstbyte_measure::units::display_nanos;
use std::fmt::Write;

/// The maximum number of lines of each section.
const LINES: usize = 12;
/// Changes of the time alone are shown from this part of the greater total on.
const NOTEWORTHY: f64 = 0.01;

/// Everything.
pub fn full(compared: &Compared, terminal: &Terminal) -> String {
    let [first, second] = compared.sides.each_ref().map(|side| side.summary);
    let sections = sections(compared, LINES, terminal);
    headline(compared, terminal)
        + &sections.iter().flat_map(|section| [section, "\n"]).collect::<String>()
        + &counts(first, second, terminal)
        + &notes(compared, true, terminal)
}

/// What fits this terminal: the verdict, what must be known, and the largest differences.
pub fn first_screen(compared: &Compared, terminal: &Terminal) -> String {
    let [first, second] = compared.sides.each_ref().map(|side| side.summary);
    let (head, counts) = (headline(compared, terminal), counts(first, second, terminal));
    let notes = notes(compared, false, terminal);
    let taken = [&head, &counts, &notes].map(|text| text.lines().count()).iter().sum::<usize>();

    // without the last line and that of the prompt
    let mut left = terminal.height.saturating_sub(taken + 2).max(LEAST);
    let (mut text, mut is_cut) = (String::new(), false);
    for section in sections(compared, PARTS, terminal) {
        // a title alone says nothing, and an empty line follows
        let lines = if left >= 3 { section.lines().count().min(left - 1) } else { 0 };
        text.extend(section.lines().take(lines).flat_map(|line| [line, "\n"]));
        text += if lines > 0 { "\n" } else { "" };
        is_cut |= lines < section.lines().count();
        left = left.saturating_sub(lines + 1);
    }
    let more = if is_cut { "--full: all loads, steps, files and programs that differ\n" } else { "" };
    head + &text + &counts + &notes + more
}

/// The lines that the largest differences have in any case, and the most lines of a kind on the first screen.
const LEAST: usize = 6;
const PARTS: usize = 1;

/// Where the difference lies, and what came or went; a title and its lines each.
///
/// `parts`: the most lines of a kind.
fn sections(compared: &Compared, parts: usize, terminal: &Terminal) -> Vec<String> {
    let [first, second] = compared.sides.each_ref().map(|side| side.summary);
    let difference = Difference::between(first, second);
    let least = NOTEWORTHY * first.total.middle.max(second.total.middle);
    let structural = |changes: &[Change]| -> Vec<Change> {
        changes.iter().filter(|change| change.is_structural()).cloned().collect()
    };
    let is_reported = |change: &&Change| change.is_structural() || change.difference().abs() >= least;
    let loads: Vec<Change> = difference.loads.iter().filter(is_reported).cloned().collect();

    let all = vec![
        kinds(&difference, least, parts, terminal),
        section("Loads that came or went, by the runtimes' own reports", &loads, terminal),
        section("Steps of the main thread that came or went", &difference.steps, terminal),
        section("Files that came, went or are used differently", &structural(&difference.files), terminal),
        section("Programs executed that came or went", &structural(&difference.programs), terminal),
    ];
    all.into_iter().filter(|section| !section.is_empty()).collect()
}

fn headline(compared: &Compared, terminal: &Terminal) -> String {
    let means = compared.sides.each_ref().map(|side| side.summary.total.middle);
    let sure = compared.comparison.map(|comparison| sureness(&comparison, compared.in_turn));
    let ratio = compared.comparison.map(|comparison| comparison.ratio);
    let verdict = verdict(means, ratio, &sure.unwrap_or_default());
    let [first, second] = &compared.sides;
    let (first, second) = (side("A", first, terminal), side("B", second, terminal));
    format!("{first}{second}{}\n\n", terminal.wrap(&verdict, 0))
}

/// The ratio, and the difference of the means. The ratio is a median, so runs that vary a lot can make them disagree.
fn verdict([a, b]: [f64; 2], ratio: Option<f64>, sure: &str) -> String {
    let ratio = ratio.unwrap_or(b / a.max(1.0));
    let (apart, more) = (display_nanos((b - a).abs()), if b < a { "less" } else { "more" });
    if (b - a) * (ratio - 1.0) < 0.0 {
        return format!(
            "B takes {ratio:.3} times as long as A{sure}. Their means differ the other way, by {apart}: the runs vary more \
             than A and B differ."
        );
    }
    format!("B takes {apart} {more} than A: {ratio:.3} times as long{sure}.")
}

/// A name, and the mean and the range of its totals.
fn side(letter: &str, side: &Side, terminal: &Terminal) -> String {
    let total = side.summary.total;
    let spread = match side.summary.runs {
        1 => "one run".to_owned(),
        n => format!("{} to {}, {n} runs", display_nanos(total.least), display_nanos(total.most)),
    };
    let width = terminal.width.saturating_sub(17 + columns(&spread)).max(10);
    let mean = display_nanos(total.middle);
    format!("{} {} {mean:>11}  {spread}\n", terminal.bold(letter), fitted_paths(side.name, width))
}

/// The interval and the verdict, or why there is none.
fn sureness(comparison: &Comparison, in_turn: bool) -> String {
    let Comparison { interval, pairs, .. } = comparison;
    let runs = match (pairs, in_turn) {
        (1, _) => "one run".to_owned(),
        (n, true) => format!("{n} runs each, interleaved"),
        (n, false) => format!("{n} runs"),
    };
    if *pairs < MIN_PAIRS {
        return format!(" ({runs}: can't tell with fewer than {MIN_PAIRS} of each)");
    }
    let verdict = match comparison.verdict() {
        Verdict::CantTell => "can't tell".to_owned(),
        verdict => verdict.to_string(),
    };
    format!(" ({:.3} to {:.3}, {runs}): {verdict}", interval.low, interval.high)
}

fn notes(compared: &Compared, all: bool, terminal: &Terminal) -> String {
    let of_side = |(letter, side): (&str, &Side)| -> Vec<String> {
        let notes = side.all_notes().take(if all { usize::MAX } else { side.notes.len() });
        notes.map(|note| format!("{letter}: {}", visible(note))).collect()
    };
    let all = ["A", "B"].into_iter().zip(&compared.sides).flat_map(of_side);
    all.map(|note| terminal.wrap(&note, 2) + "\n").collect()
}

/// A difference with its sign.
fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, display_nanos(ns.abs()))
}

fn kinds(difference: &Difference, least: f64, most: usize, terminal: &Terminal) -> String {
    let width = terminal.width.saturating_sub(46).max(14);
    let title = fitted("Where the difference lies", width);
    let mut text =
        terminal.bold(&format!("{title}{:>10}{:>10}{:>11}{:>15}", "A", "B", "change", "steps")) + "\n";
    for (kind, a, b) in &difference.kinds {
        if [a, b].iter().all(|amount| amount.count == 0.0 && amount.time == 0.0) {
            continue;
        }
        text += &terminal.paint(style(*kind), &row(kind.title(), width, *a, *b));
        text.push('\n');
        text += &parts(difference, *kind, least, most, width);
    }
    text
}

fn parts(difference: &Difference, wanted: WorkKind, least: f64, most: usize, width: usize) -> String {
    let of_kind = difference.shares.iter().filter(|(kind, _)| *kind == wanted).map(|(_, change)| change);
    let noteworthy = of_kind.filter(|change| change.difference().abs() >= least);
    let mut text = String::new();
    for change in noteworthy.take(most) {
        let name = format!("  {}", change.name);
        let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
        // how often a function was sampled is no number of steps
        let row = if wanted == WorkKind::User { times } else { row };
        text += &row(&name, width, before, after);
        text.push('\n');
    }
    text
}

fn row(name: &str, width: usize, a: Amount, b: Amount) -> String {
    format!("{}{:>15}", times(name, width, a, b), format!("{:.0} → {:.0}", a.count, b.count))
}

/// A row without the number of steps.
fn times(name: &str, width: usize, a: Amount, b: Amount) -> String {
    format!(
        "{}{:>10}{:>10}{:>11}",
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
        let name = truncated_paths(&change.name, width);
        let line = format!("{sign} {:>10}{counts:>14}  {name}", signed(change.difference()));
        let _ = writeln!(text, "{}", terminal.paint(Style::new().fg_color(Some(Color::Ansi(colour))), &line));
    }

    if changes.len() > LINES {
        let rest = &changes[LINES..];
        let sum: f64 = rest.iter().map(Change::difference).sum();
        let _ = writeln!(text, "  {:>10}{:>14}  {} others", signed(sum), "", rest.len());
    }
    text
}

fn counts(first: &Summary, second: &Summary, terminal: &Terminal) -> String {
    let (a, b) = (&first.counts, &second.counts);
    // no program starts without a page fault, so 0 means that they were not seen
    let seen = a.page_faults > 0 && b.page_faults > 0;
    let faults = if seen { (a.page_faults, b.page_faults) } else { (0, 0) };

    let all = [
        // the table above counts execs as a kind of their own
        ("system calls (with execs)", a.syscalls, b.syscalls),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_and_the_ratio_do_not_contradict_each_other() {
        let said = |b, ratio| verdict([1e6, b], ratio, " (a, b)");
        assert_eq!(said(1.1e6, None), "B takes 100 µs more than A: 1.100 times as long (a, b).");
        assert_eq!(said(0.9e6, Some(0.95)), "B takes 100 µs less than A: 0.950 times as long (a, b).");
        assert_eq!(
            said(1.1e6, Some(0.95)),
            "B takes 0.950 times as long as A (a, b). Their means differ the other way, by 100 µs: the runs vary more than \
             A and B differ."
        );
    }
}
