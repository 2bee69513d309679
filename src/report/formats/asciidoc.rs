//! Measured programs as an `AsciiDoc` table.

use super::limits;
use super::result_table::ResultTable;
use crate::document::Document;
use crate::output::visible;

/// The columns of the Markdown table.
pub fn render(document: &Document) -> String {
    let table = ResultTable::of(document);
    let (texts, numbers) = (table.texts, table.headings.len() - table.texts);
    let headings = cells(table.headings.iter().map(|heading| in_cell(heading)), " ");
    let mut text = format!("[cols=\"{texts}*<,{numbers}*>\"]\n|===\n{headings}\n\n");
    for row in table.rows {
        let row = std::iter::once(literal(&row.name)).chain(row.cells.iter().map(|cell| in_cell(cell)));
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
