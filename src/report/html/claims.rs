//! What the posts claim, and whether it holds here.

use super::block::{Cell, PageBlock, Row, Section, Table, columns, row};
use crate::document::claims::{ClaimRow, ClaimVerdict, ClaimsDocument};
use crate::output::visible;

/// A table for each document.
pub(crate) fn section(documents: &[&ClaimsDocument]) -> Option<Section> {
    let mut section = Section::new("claims", "Claims");
    section.blocks.extend(documents.iter().map(|document| PageBlock::Table { table: table(document) }));
    (!section.blocks.is_empty()).then_some(section)
}

fn table(document: &ClaimsDocument) -> Table {
    Table {
        caption: "Claims".to_owned(),
        columns: columns(&["post", "claim", "its figure", "measured here", "how", "verdict", "why"]),
        rows: document.results.iter().map(line).collect(),
        filter: true,
        folded: false,
    }
}

fn line(claim: &ClaimRow) -> Row {
    let text = |text: &str| Cell::text(visible(text));
    let verdict = Cell { mark: Some(mark(claim.verdict)), ..Cell::text(claim.verdict.name()) };
    row(vec![
        text(&claim.post),
        text(&claim.claim),
        text(&claim.figure),
        text(&claim.measured),
        text(&claim.how),
        verdict,
        text(&claim.why),
    ])
}

/// The class of a verdict in the style of the page.
fn mark(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Holds => "holds",
        ClaimVerdict::DoesNotHold => "fails",
        ClaimVerdict::CannotBeTested => "unknown",
    }
}
