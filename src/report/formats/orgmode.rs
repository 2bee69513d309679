//! Measured programs as an Org mode table, for Emacs.

use super::limits;
use super::result_table::ResultTable;
use crate::document::Document;
use crate::output::visible;

/// The columns of the Markdown table.
pub fn render(document: &Document) -> String {
    let table = ResultTable::of(document);
    let mut text = line(table.headings.iter().map(|heading| escaped(heading))) + &rule(table.headings.len());
    for row in table.rows {
        text += &line(std::iter::once(literal(&row.name)).chain(row.cells.iter().map(|cell| escaped(cell))));
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
