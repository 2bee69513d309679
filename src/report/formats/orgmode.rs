//! Measured programs as an Org mode table, for Emacs.

use super::limits;
use crate::document::Document;
use crate::document::bench::Measurement;
use crate::output::visible;
use crate::report::{metrics, row};

/// The columns of the Markdown table: one row for each result, warm before cold, ordered by first byte.
pub fn render(document: &Document) -> String {
    let rows: Vec<&Measurement> = row::ranking(document).into_iter().flat_map(|(_, rows)| rows).collect();
    let columns = metrics::columns(document).unwrap_or_else(row::times_and_counts);
    let headings = columns.iter().map(|column| escaped(&column.plain_heading()));
    let mut text = line(["program", "cache"].map(str::to_owned).into_iter().chain(headings));
    text += &rule(columns.len() + 2);

    for row in rows {
        let cache = row.cache.map_or(row::UNKNOWN, |cache| cache.name());
        let shown = columns.iter().map(|column| escaped(&column.plain_cell(row)));
        text += &line([literal(row.label()), cache.to_owned()].into_iter().chain(shown));
    }
    text + &limits::list(document, "-", literal, literal)
}

fn rule(columns: usize) -> String {
    format!("|{}|\n", vec!["--"; columns].join("+"))
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Verbatim, so that nothing in a name is markup. Verbatim text cannot hold a `|`, and ends at its first `=` before a
/// space (Org manual, "Emphasis and Monospace").
fn literal(text: &str) -> String {
    let text = visible(text);
    if text.is_empty() || text.contains(['|', '=']) { escaped(&text) } else { format!("={text}=") }
}

/// A `|` would end the cell (Org manual, "The Built-in Table Editor").
fn escaped(text: &str) -> String {
    text.replace('|', "\\vert{}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_cell() {
        let table = [
            ("plain *x*", "=plain *x*="),
            ("a|b", "a\\vert{}b"),
            ("x\ny", "=x\\ny="),
            ("seq -s= 3", "seq -s= 3"),
        ];
        for (text, expected) in table {
            assert_eq!(literal(text), expected);
        }
    }
}
