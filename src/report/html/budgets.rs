//! Programs and their budgets.

use super::block::{Cell, PageBlock, Row, Section, Table, row};
use crate::document::check::{BudgetOutcome, CheckDocument, CheckedProgram, JudgedBudget};
use crate::document::compare::ComparedFact;
use crate::output::visible;
use crate::report::text::check::{cells, change, verdict};

/// A table for each document, and what came where a count is missed.
pub(crate) fn section(documents: &[&CheckDocument]) -> Option<Section> {
    let mut section = Section::new("budgets", "Budgets");
    for document in documents {
        section.blocks.extend(table(document).map(PageBlock::from));
        section.blocks.extend(document.results.iter().filter_map(came));
    }
    (!section.blocks.is_empty()).then_some(section)
}

/// The verdict, what is not as it was, and every budget that is missed.
pub(super) fn answer(document: &CheckDocument) -> Vec<PageBlock> {
    let mut blocks = vec![PageBlock::Answer { text: format!("{}.", visible(verdict(document).trim_end())) }];
    let differing: Vec<String> = document.differing.iter().map(ComparedFact::change).collect();
    if !differing.is_empty() {
        let text = format!("Not as when the budgets were written: {}.", differing.join("; "));
        blocks.push(PageBlock::Warning { text: visible(&text) });
    }
    let missed = document.results.iter().flat_map(|program| {
        let missed = program.budgets.iter().filter(|budget| budget.outcome == BudgetOutcome::Missed);
        missed.map(|budget| format!("`{}`: {}", visible(&program.name), missed_by(budget)))
    });
    let failed = document.results.iter().filter_map(|program| {
        Some(format!("`{}` failed: {}", visible(&program.name), visible(program.failed.as_ref()?)))
    });
    let items: Vec<String> = missed.chain(failed).collect();
    if !items.is_empty() {
        blocks.push(PageBlock::List { title: "What is missed".to_owned(), items });
    }
    blocks.extend(document.results.iter().filter_map(came));
    blocks
}

fn missed_by(budget: &JudgedBudget) -> String {
    let [what, limit, measured, margin, _] = cells(budget, false);
    format!("{what}: {measured} against a budget of {limit}, margin {margin}")
}

fn table(document: &CheckDocument) -> Option<Table> {
    let rows: Vec<Row> = document
        .results
        .iter()
        .flat_map(|program| program.budgets.iter().map(|budget| line(program, budget, document.partial)))
        .collect();
    let headings = ["program", "figure", "#budget", "#measured (median)", "#margin", "outcome"];
    Some(Table { filter: true, ..Table::of("Budgets", &headings, rows)? })
}

fn line(program: &CheckedProgram, budget: &JudgedBudget, partial: bool) -> Row {
    let [what, limit, measured, margin, outcome] = cells(budget, partial);
    let mark = match budget.outcome {
        BudgetOutcome::Met => "holds",
        BudgetOutcome::Missed => "fails",
        BudgetOutcome::Tolerated | BudgetOutcome::Unknown => "unknown",
    };
    let median = budget.measured.unwrap_or(f64::NAN);
    row(vec![
        Cell::text(visible(&program.name)),
        Cell::text(visible(&what)),
        Cell::figure(limit, budget.budget as f64),
        Cell::figure(measured, median),
        Cell::figure(margin, budget.budget as f64 - median),
        Cell { mark: Some(mark), ..Cell::text(outcome) },
    ])
}

fn came(program: &CheckedProgram) -> Option<PageBlock> {
    let title = format!("`{}`: new since the budgets were written", visible(&program.name));
    let items: Vec<String> = program.came.iter().map(|one| visible(&change(one))).collect();
    (!items.is_empty()).then_some(PageBlock::List { title, items })
}
