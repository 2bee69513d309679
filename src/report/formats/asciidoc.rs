//! Measured programs as an `AsciiDoc` table.

use super::limits;
use crate::document::Document;
use crate::document::bench::Measurement;
use crate::output::visible;
use crate::report::{metrics, row};

/// The columns of the Markdown table: one row for each result, warm before cold, ordered by first byte.
pub fn render(document: &Document) -> String {
    let rows: Vec<&Measurement> = row::ranking(document).into_iter().flat_map(|(_, rows)| rows).collect();
    let columns = metrics::columns(document).unwrap_or_else(row::times_and_counts);
    let headings = ["program", "cache"].map(str::to_owned).into_iter();
    let headings = headings.chain(columns.iter().map(row::MeasurementColumn::plain_heading));
    let mut text = format!("[cols=\"2*<,{}*>\"]\n|===\n{}\n\n", columns.len(), cells(headings, " "));
    for row in rows {
        let cache = row.cache.map_or(row::UNKNOWN, |cache| cache.name());
        let shown = columns.iter().map(|column| in_cell(&column.plain_cell(row)));
        let row = [literal(row.label()), cache.to_owned()].into_iter().chain(shown);
        text += &(cells(row, "\n") + "\n\n");
    }
    text + "|===\n" + &limits::list(document, "*", literal, literal)
}

fn cells(cells: impl Iterator<Item = String>, between: &str) -> String {
    cells.map(|cell| format!("| {cell}")).collect::<Vec<_>>().join(between)
}

/// Monospaced and passed through: nothing in a name is markup.
fn literal(text: &str) -> String {
    let text = in_cell(&visible(text));
    // a literal passthrough ends at its first `+`
    if text.contains('+') || text.contains('`') {
        format!("`pass:c[{}]`", text.replace(']', "\\]"))
    } else {
        format!("`+{text}+`")
    }
}

/// A `|` would end the cell, wherever it is.
fn in_cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_cell_or_their_literal() {
        let table = [
            ("plain *x*", "`+plain *x*+`"),
            ("a|b", "`+a\\|b+`"),
            ("x\ny", "`+x\\ny+`"),
            ("g++ `x`]", "`pass:c[g++ `x`\\]]`"),
        ];
        for (text, expected) in table {
            assert_eq!(literal(text), expected);
        }
    }
}
