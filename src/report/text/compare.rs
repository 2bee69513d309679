//! A comparison of two files for a terminal.

use super::gate;
use super::terminal::{Terminal, truncated_paths};
use crate::document::bench::Cache;
use crate::document::compare::{CompareDocument, ComparedProgram, CountChange, TimeChange};
use crate::output::visible;
use crate::report::row::fine_ratio;
use crate::report::text::lists::list;
use crate::stats::Verdict;
use crate::stats::comparing::MIN_PAIRS;
use anstyle::{AnsiColor, Style};
use firstbyte_measure::units::{Bytes, display_nanos};

/// What a program may not exceed.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// The part by which it may be slower.
    pub limit: f64,
    /// Its runs may fail.
    pub ignore_failure: bool,
}

/// The changes of each program, and what the gate says, if there is one.
pub fn render(document: &CompareDocument, judge: Option<Gate>, terminal: &Terminal) -> String {
    let files = format!("old {}, new {}", document.old.display(), document.new.display());
    let mut parts = vec![terminal.wrap(&visible(&files), 4) + "\n"];
    parts.extend(document.programs.iter().map(|program| changed(program, terminal)));

    let only = |names: &[String], which: &str| {
        names.iter().map(|name| format!("`{name}`: only in the {which} file")).collect::<Vec<_>>()
    };
    let facts: Vec<String> =
        document.differing.iter().map(|fact| format!("measured differently: {fact}")).collect();
    let notes = [
        only(&document.only_old, "old"),
        only(&document.only_new, "new"),
        facts,
        document.notes.clone(),
        between(document),
    ];

    parts.push(list("Notes", notes.concat().into_iter(), terminal));
    parts.extend(judge.map(|judge| gate(document, judge, terminal)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// The changes that no resampling of two files can show.
fn between(document: &CompareDocument) -> Vec<String> {
    let has_times = document.programs.iter().any(|program| !program.times.is_empty());
    let limits = "the intervals cover drift while each file was measured, not changes between the two (other load, a reboot, \
                  another place in memory); to be sure, interleave both: firstbyte bench OLD NEW";
    has_times.then(|| limits.to_owned()).into_iter().collect()
}

fn changed(program: &ComparedProgram, terminal: &Terminal) -> String {
    let cold = if program.cache == Some(Cache::Cold) { " (cold page cache)" } else { "" };
    let title = truncated_paths(&format!("{}{cold}", program.name), terminal.width);
    let mut text = terminal.bold(&title) + "\n";
    for time in &program.times {
        text += &(terminal.wrap(&line(time, terminal), 16) + "\n");
    }
    if program.times.is_empty() {
        text += "  can't tell: one of the files has no single times above zero\n";
    }
    text += &counts(&program.counts, terminal);
    let limits = program.limits.iter().map(|limit| terminal.wrap(&visible(&format!("  {limit}")), 4) + "\n");
    text + &limits.collect::<String>()
}

/// A line for each count that changed, one for those within their variation, and one for those that are the same.
fn counts(all: &[CountChange], terminal: &Terminal) -> String {
    let (same, different): (Vec<_>, Vec<_>) = all.iter().partition(|count| count.old == count.new);
    let (varying, changed): (Vec<_>, Vec<_>) = different.into_iter().partition(|count| count.varies);
    let mut lines: Vec<String> =
        changed.into_iter().map(|count| format!("  {}", count_change(count))).collect();
    if !varying.is_empty() {
        let varying: Vec<String> = varying.into_iter().map(within).collect();
        lines.push(format!("  varying       {}: no more than from run to run", varying.join(", ")));
    }
    if !same.is_empty() {
        let same: Vec<String> = same.into_iter().map(|count| count.name.replace('_', " ")).collect();
        lines.push(format!("  unchanged     {}", same.join(", ")));
    }
    lines.into_iter().map(|line| terminal.wrap(&line, 16) + "\n").collect()
}

fn within(change: &CountChange) -> String {
    format!(
        "{} {} → {}",
        change.name.replace('_', " "),
        amount(&change.name, change.old),
        amount(&change.name, change.new)
    )
}

fn amount(name: &str, count: u64) -> String {
    match name {
        "bytes_read" | "max_rss" => Bytes(count).to_string(),
        _ => count.to_string(),
    }
}

fn line(time: &TimeChange, terminal: &Terminal) -> String {
    let r = &time.ratio;
    let [old, new] = [time.old, time.new].map(display_nanos);
    let colour = match time.verdict {
        Verdict::Faster => Style::new().fg_color(Some(AnsiColor::Green.into())),
        Verdict::Slower => Style::new().fg_color(Some(AnsiColor::Red.into())),
        Verdict::CantTell => Style::new(),
    };
    let few =
        if time.ratio.pairs < MIN_PAIRS && time.verdict == Verdict::CantTell { ": too few runs" } else { "" };
    let verdict = terminal.paint(colour, &format!("{}{few}", time.verdict));
    let of = time.of.replace('_', " ");
    format!(
        "  {of:<14}{old} → {new}: {verdict}, {} × ({} to {}, 99 %)",
        fine_ratio(r.ratio),
        fine_ratio(r.low),
        fine_ratio(r.high)
    )
}

fn count_change(change: &CountChange) -> String {
    let CountChange { name, old, new, .. } = change;
    let label = name.replace('_', " ");
    let sign = if new > old { "+" } else { "-" };
    let [old, new, by] = [*old, *new, new.abs_diff(*old)].map(|count| amount(name, count));
    format!("{label:<14}{old} → {new} ({sign}{by})")
}

fn gate(document: &CompareDocument, Gate { limit, ignore_failure }: Gate, terminal: &Terminal) -> String {
    let slower = document.slower_than(limit);
    let untimed = document.untimed();
    let unknown = |name: &str| format!("`{name}`: no times to compare, so it may be slower");
    if slower.is_empty() && !untimed.is_empty() {
        return list("Not compared", untimed.into_iter().map(unknown), terminal);
    }
    let failed = document.failed();
    if slower.is_empty() && !ignore_failure && !failed.is_empty() {
        let line = |name: &str| format!("`{name}`: its runs failed (--ignore-failure accepts this)");
        return list("Not compared", failed.into_iter().map(line), terminal);
    }
    gate::verdict(&slower, limit, terminal)
}
