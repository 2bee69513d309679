//! Measured programs as a Markdown table.

use super::limits;
use super::markdown_text::{code, plain};
use crate::document::Document;
use crate::document::bench::Measurement;
use crate::report::{metrics, row};

/// A table for a README or an issue: one row for each result, warm before cold, ordered by first byte. Names are code
/// spans.
pub fn render(document: &Document) -> String {
    let rows: Vec<&Measurement> = row::ranking(document).into_iter().flat_map(|(_, rows)| rows).collect();
    let below = row::threshold(&rows);
    let columns = metrics::columns(document).unwrap_or_else(usual_columns);
    let mut headings = vec!["program".to_owned(), "cache".to_owned()];
    headings.extend(columns.iter().map(row::MeasurementColumn::plain_heading));
    headings.extend(below.clone().map(|below| plain(&below)));
    let mut text = line(&headings) + "|:---|:---|" + &"---:|".repeat(headings.len() - 2) + "\n";
    for row in rows {
        let cache = row.cache.map_or(row::UNKNOWN, |cache| cache.name());
        let mut cells = vec![code(row.label()), cache.to_owned()];
        cells.extend(columns.iter().map(|column| plain(&column.plain_cell(row))));
        cells.extend(below.as_ref().map(|_| plain(&row::below(row))));
        text += &line(&cells);
    }
    text + &limits::list(document, "-", code, plain)
}

fn usual_columns() -> Vec<row::MeasurementColumn> {
    row::mean_and_minimum().into_iter().chain(row::times_and_counts()).collect()
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
