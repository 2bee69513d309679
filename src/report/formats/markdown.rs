//! Measured programs as a Markdown table.

use crate::document::Document;
use crate::document::bench::Measurement;
use crate::output::visible;
use crate::report::row;

/// A table for a README or an issue: one row for each result, warm before cold, ordered by first byte. Names are code
/// spans.
pub fn render(document: &Document) -> String {
    let rows: Vec<&Measurement> = row::ranking(document).into_iter().flat_map(|(_, rows)| rows).collect();
    let below = row::threshold(&rows);
    let columns: Vec<_> = row::mean_and_minimum().into_iter().chain(row::times_and_counts()).collect();
    let mut headings = vec!["program".to_owned(), "cache".to_owned()];
    headings.extend(columns.iter().map(row::MeasurementColumn::plain_heading));
    headings.extend(below.clone().map(|below| escaped(&below)));
    let mut text = line(&headings) + "|:---|:---|" + &"---:|".repeat(headings.len() - 2) + "\n";
    for row in rows {
        let cache = row.cache.map_or(row::UNKNOWN, |cache| cache.name());
        let mut cells = vec![code(row.label()), cache.to_owned()];
        cells.extend(columns.iter().map(|column| escaped(&column.plain_cell(row))));
        cells.extend(below.as_ref().map(|_| escaped(&row::below(row))));
        text += &line(&cells);
    }
    text
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// `text` as a code span inside a table cell. A `|` would end the cell even there; the fence is longer than any run of
/// backticks in the text (`CommonMark` 6.1, GitHub's table extension).
fn code(text: &str) -> String {
    let text = visible(text).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_cell_or_their_code_span() {
        let table = [
            ("plain", "`plain`"),
            ("a|b", "`a\\|b`"),
            ("x\ny", "`x\\ny`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            ("", "`  `"),
        ];
        for (text, expected) in table {
            assert_eq!(code(text), expected);
        }
    }
}
