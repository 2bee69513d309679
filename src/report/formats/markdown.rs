//! Measured programs as a Markdown table.

use super::limits;
use super::markdown_text::{code, plain};
use super::result_table::ResultTable;
use crate::document::Document;

/// A table for a README or an issue. Names are code spans.
pub fn render(document: &Document) -> String {
    let table = ResultTable::of(document);
    let headings: Vec<String> = table.headings.iter().map(|heading| plain(heading)).collect();
    let numbers = table.headings.len() - table.texts;
    let mut text = line(&headings) + "|" + &":---|".repeat(table.texts) + &"---:|".repeat(numbers) + "\n";
    for row in table.rows {
        let cells: Vec<String> =
            std::iter::once(code(&row.name)).chain(row.cells.iter().map(|cell| plain(cell))).collect();
        text += &line(&cells);
    }
    text + &limits::list(document, "-", code, plain)
}

pub(super) fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
