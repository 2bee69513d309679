//! Throughput as CSV.

use super::csv::line;
use crate::document::throughput::ThroughputDocument;

/// One line for each sink, number of lines and design. Times are in seconds.
///
/// # Panics
///
/// Never: the records are written to memory.
pub fn render(document: &ThroughputDocument) -> String {
    let optional = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let heading = [
        "sink",
        "design",
        "lines",
        "bytes",
        "right",
        "runs",
        "median",
        "min",
        "bytes_per_second",
        "times_faster",
    ];
    let mut text = line(&heading.map(str::to_owned));

    for row in &document.results {
        let record = [
            row.sink.clone(),
            row.design.clone(),
            row.lines.to_string(),
            row.bytes.to_string(),
            row.right.to_string(),
            row.times_ns.len().to_string(),
            (row.median_ns / 1e9).to_string(),
            (row.min_ns / 1e9).to_string(),
            optional(row.bytes_per_second),
            optional(row.times_faster.map(|ratio| ratio.ratio)),
        ];
        text += &line(&record);
    }
    text
}
