//! What was claimed, and what is so here.

use super::block::{Block, Cell, Row, Section, Table, columns, row};
use super::source::ClaimsDocument;
use crate::output::visible;
use serde_json::{Map, Value};

/// A table a document.
pub(crate) fn section(documents: &[&ClaimsDocument]) -> Option<Section> {
    let mut section = Section::new("claims", "Claims");
    section.blocks.extend(documents.iter().map(|document| Block::Table { table: table(document) }));
    (!section.blocks.is_empty()).then_some(section)
}

fn table(document: &ClaimsDocument) -> Table {
    Table {
        caption: "Claims".to_owned(),
        columns: columns(&["seed", "claim", "its figure", "measured here", "how", "verdict", "why"]),
        rows: document.results.iter().map(line).collect(),
        filter: true,
        folded: false,
    }
}

fn line(claim: &Map<String, Value>) -> Row {
    let cell = |key: &str| Cell::text(claim.get(key).map(shown).unwrap_or_default());
    let verdict = cell("verdict");
    let verdict = Cell::text(verdict.text.replace('_', " "));
    let mark = mark(&verdict.text);
    row(vec![
        cell("seed"),
        cell("claim"),
        cell("figure"),
        cell("measured"),
        cell("how"),
        Cell { mark: Some(mark), ..verdict },
        cell("why"),
    ])
}

/// `holds`, `fails` or `unknown`, by how the verdict begins.
fn mark(verdict: &str) -> &'static str {
    let verdict = verdict.to_lowercase().replace(['_', '-'], " ");
    if verdict.starts_with("holds") {
        "holds"
    } else if verdict.contains("not hold") {
        "fails"
    } else {
        "unknown"
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => visible(text),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => visible(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_marked_by_what_it_says() {
        let marks = ["holds", "does not hold here", "does_not_hold", "cannot be tested here", ""].map(mark);
        assert_eq!(marks, ["holds", "fails", "fails", "unknown", "unknown"]);
    }
}
