//! Two start-ups side by side, for a terminal.

use super::terminal::{Terminal, columns, fitted, fitted_paths, truncated_paths};
use crate::analysis::Summary;
use crate::analysis::attribution::WorkKind;
use crate::analysis::diff_document::finding;
use crate::analysis::difference::{Amount, Change, Compared, Difference, Side};
use crate::analysis::finding_changes::{self, FindingChange};
use crate::output::visible;
use crate::report::text::clipping::{ListedText, clipped, listed};
use crate::report::text::trace::style;
use crate::report::words::became;
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
    let (difference, least) = (Difference::between(first, second), noteworthy(compared));
    let mut sections = vec![kinds(&difference, least, LINES, terminal)];
    sections.extend((!difference.marks.is_empty()).then(|| marks(&difference, terminal)));
    let findings = finding_texts(compared, terminal);
    let lines: String = findings.iter().map(|text| text.whole(terminal)).collect();
    sections.extend((!findings.is_empty()).then(|| findings_title(terminal) + &lines));
    sections.extend(changes(&difference, least, terminal));
    headline(compared, terminal)
        + &sections.iter().flat_map(|section| [section, "\n"]).collect::<String>()
        + &(terminal.wrap(&counts(first, second), 2) + "\n")
        + &notes(compared, true).iter().map(|note| terminal.wrap(note, 2) + "\n").collect::<String>()
}

/// What fits this terminal: the verdict, where the difference lies, why, and what must be known.
pub fn first_screen(compared: &Compared, terminal: &Terminal) -> String {
    let [first, second] = compared.sides.each_ref().map(|side| side.summary);
    let head = headline(compared, terminal);
    let parts = 1 + terminal.height.saturating_sub(SMALLEST) / 8;
    let counts = clipped(&counts(first, second), 2, parts, terminal);
    // without the last line and that of the prompt
    let taken = head.lines().count() + counts.lines().count() + 2;
    let mut screen =
        Screen { text: String::new(), left: terminal.height.saturating_sub(taken), is_cut: false };

    let notes = notes(compared, false).into_iter();
    let texts: Vec<ListedText> = notes.map(|note| ListedText::new(note, 2, terminal)).collect();
    let notes = listed(&texts, screen.left / 4, terminal);
    screen.left = screen.left.saturating_sub(notes.text.lines().count());
    screen.is_cut = notes.shown < texts.len() || counts.trim_end().ends_with('…');

    let findings = finding_texts(compared, terminal);
    let of_finding = findings.first().map_or(0, |finding| finding.least + 3);
    // the largest part of each kind, or the first finding
    let (difference, least) = (Difference::between(first, second), noteworthy(compared));
    let table = kinds(&difference, least, parts, terminal);
    let fits = table.lines().count() + of_finding < screen.left;
    screen.add(&if fits { table } else { kinds(&difference, least, 0, terminal) });
    let marks = marks(&difference, terminal);
    let are_first = marks.lines().count() + of_finding < screen.left;
    if are_first && !marks.is_empty() {
        screen.add(&marks);
    }
    if !findings.is_empty() && screen.left > findings[0].least + 1 {
        let fitting = listed(&findings, screen.left - 2, terminal);
        screen.is_cut |= fitting.shown < findings.len();
        screen.add(&(findings_title(terminal) + &fitting.text));
    }
    let later = (!are_first).then_some(marks);
    for section in later.into_iter().chain(changes(&difference, least, terminal)) {
        screen.add(&section);
    }

    let Screen { text, is_cut, .. } = screen;
    let more =
        if is_cut { "--full: all findings, loads, steps, files and programs that differ\n" } else { "" };
    head + &text + &counts + &notes.text + more
}

/// The height of the smallest usual terminal.
const SMALLEST: usize = 24;

/// Sections below each other, as far as there is room.
struct Screen {
    text: String,
    left: usize,
    /// Something did not fit.
    is_cut: bool,
}

impl Screen {
    /// Adds what fits of a section. A title alone says nothing, and an empty line follows.
    fn add(&mut self, section: &str) {
        let all = section.lines().count();
        let lines = if self.left >= 3 { all.min(self.left - 1) } else { 0 };
        self.text.extend(section.lines().take(lines).flat_map(|line| [line, "\n"]));
        self.text += if lines > 0 { "\n" } else { "" };
        self.is_cut |= lines < all;
        self.left = self.left.saturating_sub(if lines > 0 { lines + 1 } else { 0 });
    }
}

/// From this part of the greater total on, differences of time alone are shown, in nanoseconds.
fn noteworthy(compared: &Compared) -> f64 {
    let [first, second] = compared.sides.each_ref().map(|side| side.summary);
    NOTEWORTHY * first.total.middle.max(second.total.middle)
}

fn findings_title(terminal: &Terminal) -> String {
    terminal.bold("What trace finds, and what became of it") + "\n"
}

/// The findings whose cost differs, numbered.
fn finding_texts(compared: &Compared, terminal: &Terminal) -> Vec<ListedText> {
    let least = noteworthy(compared);
    let all = finding_changes::between(compared.sides.each_ref());
    let differing = all.iter().filter(|change| change.difference().abs() >= least).enumerate();
    let text = |(n, change): (usize, &FindingChange)| {
        let text = format!("{}. {}: {}", n + 1, became(&finding(change), "-"), visible(&change.text));
        ListedText::new(text, 3, terminal)
    };
    differing.map(text).collect()
}

/// What came or went; a title and its lines each.
fn changes(difference: &Difference, least: f64, terminal: &Terminal) -> Vec<String> {
    let structural = |changes: &[Change]| -> Vec<Change> {
        changes.iter().filter(|change| change.is_structural()).cloned().collect()
    };
    let is_reported = |change: &&Change| change.is_structural() || change.difference().abs() >= least;
    let loads: Vec<Change> = difference.loads.iter().filter(is_reported).cloned().collect();

    let all = vec![
        section("Loads that came or went, by the runtimes' own reports", &loads, terminal),
        section("Steps of the main thread that came or went", &difference.steps, terminal),
        section("Files that came, went or are used differently", &structural(&difference.files), terminal),
        section(
            "Programs that came or went, with their lifetimes",
            &structural(&difference.programs),
            terminal,
        ),
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
    let verdict = match comparison.verdict() {
        Verdict::CantTell if *pairs < MIN_PAIRS => {
            return format!(" ({runs}: can't tell with fewer than {MIN_PAIRS} of each)");
        }
        Verdict::CantTell => "can't tell".to_owned(),
        verdict => verdict.to_string(),
    };
    format!(" ({:.3} to {:.3}, {runs}): {verdict}", interval.low, interval.high)
}

/// What must be known of each side, or of both. `all`: also how often it was executed.
fn notes(compared: &Compared, all: bool) -> Vec<String> {
    let [a, b] = compared.sides.each_ref().map(|side| -> Vec<String> {
        let notes = side.all_notes().take(if all { usize::MAX } else { side.notes.len() });
        notes.map(|note| visible(note)).collect()
    });
    let of = |letter: &str, notes: &[String], others: &[String]| -> Vec<String> {
        let own = notes.iter().filter(|note| !others.contains(note));
        own.map(|note| format!("{letter}: {note}")).collect()
    };
    let both = a.iter().filter(|note| b.contains(note)).map(|note| format!("A and B: {note}"));
    both.chain(of("A", &a, &b)).chain(of("B", &b, &a)).collect()
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
    let is_fault =
        |(kind, a, b): &&(WorkKind, Amount, Amount)| *kind == WorkKind::Fault && a.count + b.count > 0.0;
    let sees_faults = difference.kinds.iter().any(|all| is_fault(&all));
    for (kind, a, b) in &difference.kinds {
        if [a, b].iter().all(|amount| amount.count == 0.0 && amount.time == 0.0) {
            continue;
        }
        let whole = Change::of_both(kind.title_if(sees_faults), *a, *b);
        text += &terminal.paint(style(*kind), &kind_row(&whole, width, *a, *b));
        text.push('\n');
        // samples tell which functions user code is, and not how long it runs
        if *kind != WorkKind::User || !whole.is_uncertain() {
            text += &parts(difference, *kind, least, most, width);
        }
    }
    text
}

/// The parts that the programs name, those that differ most first.
fn marks(difference: &Difference, terminal: &Terminal) -> String {
    if difference.marks.is_empty() {
        return String::new();
    }
    let width = terminal.width.saturating_sub(46).max(14);
    let title = fitted("Marks", width);
    let mut text =
        terminal.bold(&format!("{title}{:>10}{:>10}{:>11}{:>15}", "A", "B", "change", "marks")) + "\n";
    for change in difference.marks.iter().take(LINES) {
        text += &mark_row(change, width);
        text.push('\n');
    }
    if let Some(more @ 1..) = difference.marks.len().checked_sub(LINES) {
        let _ = writeln!(text, "… and {more} more");
    }
    text
}

fn mark_row(change: &Change, width: usize) -> String {
    let whole = Change { name: format!("`{}`", visible(&change.name)), ..change.clone() };
    match (change.before, change.after) {
        (Some(before), Some(after)) => kind_row(&whole, width, before, after),
        (before, after) => {
            let only = if before.is_some() { "only A" } else { "only B" };
            let [a, b] =
                [before, after].map(|side| side.map_or("-".to_owned(), |side| display_nanos(side.time)));
            format!("{}{a:>10}{b:>10}{only:>11}", fitted(&whole.name, width))
        }
    }
}

fn parts(difference: &Difference, wanted: WorkKind, least: f64, most: usize, width: usize) -> String {
    let of_kind = difference.shares.iter().filter(|(kind, _)| *kind == wanted).map(|(_, change)| change);
    let noteworthy = of_kind.filter(|change| change.difference().abs() >= least && !change.is_uncertain());
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

/// Without a change if the runs vary by more than the sides differ.
fn kind_row(whole: &Change, width: usize, a: Amount, b: Amount) -> String {
    if !whole.is_uncertain() {
        return row(&whole.name, width, a, b);
    }
    let [before, after] = [a, b].map(|amount| display_nanos(amount.time));
    let steps = format!("{:.0} → {:.0}", a.count, b.count);
    format!("{}{before:>10}{after:>10}{:>11}{steps:>15}", fitted(&whole.name, width), "can't tell")
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
        let name = truncated_paths(&visible(&change.name), width);
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

fn counts(first: &Summary, second: &Summary) -> String {
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
    if shown.is_empty() {
        return "Counts of all threads and processes: the same.".to_owned();
    }
    format!("Counts of all threads and processes: {}.", shown.join(", "))
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
