//! Budgets and whether they were met, for a terminal.

use super::terminal::{Terminal, columns, truncated_paths};
use crate::document::check::{BudgetOutcome, BudgetUnit, CheckDocument, CheckedProgram, JudgedBudget, MARKS};
use crate::document::compare::ComparedFact;
use crate::document::diff::DiffChange;
use crate::output::visible;
use crate::report::words::count_of;
use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};
use firstbyte_measure::units::{Bytes, display_nanos};
use std::fmt::Write;

/// A table for each program, and the verdict.
pub fn render(checked: &CheckDocument, terminal: &Terminal) -> String {
    let mut parts: Vec<String> =
        checked.results.iter().map(|program| one(program, checked.partial, terminal)).collect();
    parts.insert(0, differing(checked, terminal));
    parts.push(warnings(checked, terminal));
    parts.push(verdict(checked));
    parts.retain(|part| !part.is_empty());
    let lines = parts.join("\n");
    lines.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// What is not as it was when the budgets were written: it may explain all that follows.
fn differing(checked: &CheckDocument, terminal: &Terminal) -> String {
    let facts: Vec<String> = checked.differing.iter().map(ComparedFact::change).collect();
    if facts.is_empty() {
        return String::new();
    }
    let text = visible(&format!("not as when the budgets were written: {}", facts.join("; ")));
    terminal.wrap(&text, 2) + "\n"
}

/// If a budget was missed, what else may be the cause.
fn warnings(checked: &CheckDocument, terminal: &Terminal) -> String {
    let lines = checked.warnings.iter().map(|warning| {
        let line = visible(&format!("warning: {warning}"));
        terminal.wrap(&line, 4) + "\n"
    });
    if checked.missed() > 0 { lines.collect() } else { String::new() }
}

fn one(program: &CheckedProgram, partial: bool, terminal: &Terminal) -> String {
    let title = terminal.bold(&visible(&program.name));
    if let Some(reason) = &program.failed {
        return format!("{title}\n{}\n", terminal.wrap(&format!("  failed: {}", visible(reason)), 4));
    }

    if partial && program.budgets.is_empty() {
        return format!("{title}\n  not measured: interrupted\n");
    }

    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_header(["", "budget", "measured", "margin", ""]);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(terminal.width).unwrap_or(u16::MAX));

    for judged in &program.budgets {
        table.add_row(cells(judged, partial));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 1 }, 0));
        let text = index == 0 || index == 4;
        column.set_cell_alignment(if text { CellAlignment::Left } else { CellAlignment::Right });
    }

    let came = came(program, terminal);
    let limits = program.limits.iter().map(|limit| terminal.wrap(&visible(&format!("  {limit}")), 4) + "\n");
    format!("{title}\n{}\n{came}{}", coloured(&table.to_string(), terminal), limits.collect::<String>())
}

/// The most lines of what came.
pub(super) const CAME: usize = 12;

/// What a program does now and did not do when the budgets were written.
fn came(program: &CheckedProgram, terminal: &Terminal) -> String {
    let Some(help) = &program.came_help else { return String::new() };
    if program.came.is_empty() {
        let help = visible(help);
        let text = if help.starts_with("firstbyte ") {
            format!("nothing new was seen; {help} shows both runs")
        } else {
            help
        };
        return terminal.wrap(&format!("  {text}"), 4) + "\n";
    }

    let text = format!("  new since the budgets were written:\n{}", changes(&program.came, terminal));
    let others = program.came.len().saturating_sub(CAME);
    let others = if others > 0 { format!("{others} more; ") } else { String::new() };
    text + &terminal.wrap(&format!("    {others}all: {}", visible(help)), 6) + "\n"
}

/// A line for each of the first changes.
pub(super) fn changes(came: &[DiffChange], terminal: &Terminal) -> String {
    let mut text = String::new();
    for change in came.iter().take(CAME) {
        let (kind, count) = (change.kind.as_deref().unwrap_or_default(), counted(change));
        let width = terminal.width.saturating_sub(14 + columns(&count));
        let _ = writeln!(text, "    + {kind:<8}{}{count}", truncated_paths(&visible(&change.name), width));
    }
    text
}

/// How often it was there and is now, unless it is simply new.
fn counted(change: &DiffChange) -> String {
    let [before, after] = [change.before, change.after].map(|amount| amount.map_or(0.0, |a| a.count));
    let is_plain = before == 0.0 && (after <= 1.0 || change.kind.as_deref() == Some("file"));
    if is_plain { String::new() } else { format!(", {before:.0} → {after:.0}") }
}

/// Something that came, in one line.
pub(crate) fn change(change: &DiffChange) -> String {
    format!("{} {}{}", change.kind.as_deref().unwrap_or_default(), change.name, counted(change))
}

/// The budget's name, its value, what was measured, what is left of it, and the outcome.
pub(crate) fn cells(judged: &JudgedBudget, partial: bool) -> [String; 5] {
    let shown = |value: f64| figure(value, judged.unit);
    let measured = judged.measured.map_or("–".to_owned(), |median| match judged.range {
        Some([low, high]) if judged.unit != BudgetUnit::Nanoseconds => {
            with_range(&shown(median), &shown(low), &shown(high))
        }
        _ => shown(median),
    });
    let margin = judged.measured.map_or("–".to_owned(), |median| {
        let left = judged.budget as f64 - median;
        let part = part(median, judged.budget);
        format!("{}{}{part}", if left < 0.0 { "-" } else { "" }, shown(left.abs()))
    });

    let outcome = match judged.outcome {
        BudgetOutcome::Met => "met",
        BudgetOutcome::Tolerated => "tolerated",
        BudgetOutcome::Missed => "missed",
        BudgetOutcome::Unknown if partial => "interrupted",
        BudgetOutcome::Unknown => "not measured here",
    };
    let budget = match judged.unit {
        BudgetUnit::Count => judged.budget.to_string(), // a float cannot represent every number
        _ => shown(judged.budget as f64),
    };
    let what = match judged.what.strip_prefix(MARKS) {
        Some(mark) => format!("mark {}", visible(mark)),
        None => judged.what.replace('_', " "),
    };
    [what, budget, measured, margin, outcome.to_owned()]
}

/// `2.16 MiB (2.15 to 2.21)`, with the unit once if it is the same.
fn with_range(median: &str, low: &str, high: &str) -> String {
    let unit = |figure: &str| figure.split_once(' ').map(|(_, unit)| unit.to_owned());
    let bare = |figure: &str| match figure.split_once(' ') {
        Some((number, _)) if unit(low) == unit(median) && unit(high) == unit(median) => number.to_owned(),
        _ => figure.to_owned(),
    };
    format!("{median} ({} to {})", bare(low), bare(high))
}

/// The margin as a part of the budget; beyond ten times, the multiple of the budget.
fn part(median: f64, budget: u64) -> String {
    let times = median / budget as f64;
    match budget {
        0 => String::new(),
        _ if times > 10.0 => format!(" ({times:.0}×)"),
        _ => format!(" ({:+.0} %)", (1.0 - times) * 100.0),
    }
}

fn figure(value: f64, unit: BudgetUnit) -> String {
    match unit {
        BudgetUnit::Nanoseconds => display_nanos(value),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
        BudgetUnit::Bytes => Bytes(value as u64).to_string(),
        BudgetUnit::Count => format!("{value:.0}"),
    }
}

/// Missed budgets are red.
fn coloured(table: &str, terminal: &Terminal) -> String {
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    let paint = |line: &str| {
        let missed = line.trim_end().ends_with("missed");
        if missed { terminal.paint(red, line.trim_end()) } else { line.to_owned() }
    };
    table.lines().map(paint).collect::<Vec<_>>().join("\n")
}

/// How many budgets there are, and how many are missed.
pub(crate) fn verdict(checked: &CheckDocument) -> String {
    let all: usize = checked.results.iter().map(|program| program.budgets.len()).sum();
    let failed = checked.results.iter().filter(|program| program.failed.is_some()).count();
    let missed = match checked.missed() {
        0 => "none".to_owned(),
        missed => missed.to_string(),
    };
    let unknown = match checked.unknown() {
        0 => String::new(),
        unknown if checked.partial => format!(", {unknown} not measured"),
        unknown => format!(", {unknown} not measured here"),
    };
    let failed = match failed {
        0 => String::new(),
        failed => format!("; {} failed", count_of(failed, "program", "programs")),
    };
    let budgets = count_of(all, "budget", "budgets");
    let interrupted = if checked.partial { "; interrupted" } else { "" };
    format!("{budgets}, {missed} missed{unknown}{failed}{interrupted}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_unit_once_if_it_is_the_same() {
        assert_eq!(with_range("2.16 MiB", "2.15 MiB", "2.21 MiB"), "2.16 MiB (2.15 to 2.21)");
        assert_eq!(with_range("1.00 MiB", "999 KiB", "1.01 MiB"), "1.00 MiB (999 KiB to 1.01 MiB)");
        assert_eq!(with_range("101", "100", "102"), "101 (100 to 102)");
    }

    #[test]
    fn margins_are_parts_of_the_budget_or_multiples_of_it() {
        let parts = [(95.0, 100), (100.0, 100), (250.0, 100), (2000.0, 100), (5.0, 0)];
        let shown = parts.map(|(median, budget)| part(median, budget));
        assert_eq!(shown, [" (+5 %)", " (+0 %)", " (-150 %)", " (20×)", ""]);
    }
}
