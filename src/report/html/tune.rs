//! The ways to start a program: a bar for each, with its interval.

use super::block::{Cell, PageBlock, Row, Section, Table, row};
use super::forest::of_ratios;
use crate::document::tune::{TuneDocument, TunedVariant};
use crate::output::visible;
use crate::report::row::fine_ratio;
use crate::report::text::tune::{notes, summary};
use crate::stats::Verdict;

/// The sentence, every ratio as a picture, and what to paste.
pub(super) fn answer(document: &TuneDocument) -> Vec<PageBlock> {
    let text = format!("`{}`: {}", visible(&document.command), visible(&summary(document)));
    let mut blocks = vec![PageBlock::Answer { text }];
    let title = format!("Ways to start it, compared with the plain command by {}", document.by.name());
    blocks.extend(of_ratios(title, ratios(document)).map(|forest| PageBlock::Forest { forest }));
    let helping = document.proven().map(|tuned| visible(&tuned.command));
    let together = document.together.iter().map(|it| format!("{} (together)", visible(&it.command)));
    let items: Vec<String> = helping.chain(together).collect();
    if !items.is_empty() {
        blocks.push(PageBlock::List { title: "What helps".to_owned(), items });
    }
    blocks
}

/// All ways with a figure, those together last.
fn ratios(document: &TuneDocument) -> Vec<(String, crate::document::bench::Ratio, Verdict)> {
    let name = |tuned: &TunedVariant| {
        let against = tuned.against.as_ref().map_or(String::new(), |base| format!(" (against {base})"));
        visible(&tuned.name) + &against
    };
    let each = document.results.iter().filter_map(|tuned| Some((name(tuned), tuned.ratio?, tuned.verdict)));
    let together = document.together.iter().map(|it| {
        let names: Vec<String> = it.names.iter().map(|name| visible(name)).collect();
        (format!("together: {}", names.join(", ")), it.ratio, Verdict::Faster)
    });
    each.chain(together).collect()
}

/// A table of all ways, and of those that were not tried.
pub(crate) fn section(documents: &[&TuneDocument]) -> Option<Section> {
    let mut section = Section::new("ways", "Ways to start");
    for document in documents {
        let rows: Vec<Row> = document.results.iter().map(line).collect();
        let headings = ["way", "#ratio", "verdict", "command", "what is different"];
        let table = Table::of(&format!("Ways to start `{}`", visible(&document.command)), &headings, rows);
        section.blocks.extend(table.map(|table| PageBlock::from(Table { filter: true, ..table })));
        let items: Vec<String> = document
            .untried
            .iter()
            .map(|it| format!("{}: {}", visible(&it.name), visible(&it.reason)))
            .collect();
        if !items.is_empty() {
            section.blocks.push(PageBlock::List { title: "Not tried".to_owned(), items });
        }
    }
    (!section.blocks.is_empty()).then_some(section)
}

fn line(tuned: &TunedVariant) -> Row {
    let ratio = tuned.ratio.map_or(Cell::text(String::new()), |ratio| {
        Cell::figure(format!("{} ×", fine_ratio(ratio.ratio)), ratio.ratio)
    });
    let mark = match tuned.verdict {
        Verdict::Faster => "holds",
        Verdict::Slower => "fails",
        Verdict::CantTell => "unknown",
    };
    row(vec![
        Cell::text(visible(&tuned.name)),
        ratio,
        Cell { mark: Some(mark), ..Cell::text(tuned.verdict.to_string()) },
        Cell::text(visible(&tuned.command)),
        Cell::text(visible(&notes(tuned))),
    ])
}
