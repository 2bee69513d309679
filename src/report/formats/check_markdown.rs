//! Budgets and whether they were met, as Markdown.

use super::markdown::line;
use super::markdown_text::{code, plain};
use crate::document::check::{CheckDocument, CheckedProgram};
use crate::document::compare::ComparedFact;
use crate::report::text::check::{cells, change, verdict};

/// The verdict, what is not as it was, a table of all budgets, and what came where a count is missed.
pub(super) fn render(checked: &CheckDocument) -> String {
    let verdict = format!("**{}**\n", plain(verdict(checked).trim_end()));
    let differing: Vec<String> = checked.differing.iter().map(ComparedFact::change).collect();
    let differing = match &differing[..] {
        [] => String::new(),
        facts => format!("\nNot as when the budgets were written: {}.\n", plain(&facts.join("; "))),
    };
    let rows: String = checked.results.iter().map(|program| rows(program, checked.partial)).collect();
    let lists: String = checked.results.iter().flat_map(came).collect();
    let lists = if lists.is_empty() { lists } else { format!("\n{lists}") };
    verdict + &differing + HEAD + &rows + &lists
}

const HEAD: &str = "\n| program | figure | budget | measured (median) | margin | outcome |\n\
                    |:---|:---|---:|---:|---:|:---|\n";

fn rows(program: &CheckedProgram, partial: bool) -> String {
    let name = code(&program.name);
    if let Some(reason) = &program.failed {
        return line(&[&*name, "", "", "", "", &format!("failed: {}", plain(reason))].map(str::to_owned));
    }
    let row = |budget| {
        let shown = cells(budget, partial).map(|cell| plain(&cell));
        line(&[vec![name.clone()], shown.to_vec()].concat())
    };
    program.budgets.iter().map(row).collect()
}

/// A line for each thing that came.
fn came(program: &CheckedProgram) -> Vec<String> {
    let name = code(&program.name);
    let new = |change: String| format!("- {name}: new since the budgets were written: {}\n", plain(&change));
    let help = program.came_help.iter().map(|help| format!("- {name}: {}\n", plain(help)));
    program.came.iter().map(change).map(new).chain(help).collect()
}
