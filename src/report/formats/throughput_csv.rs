//! Throughput as CSV.

use crate::document::throughput::ThroughputDocument;

/// One line for each sink, number of lines and design. Times are in seconds.
///
/// # Panics
///
/// Never: the records are written to memory.
pub fn render(document: &ThroughputDocument) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let optional = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let heading =
        ["sink", "design", "lines", "bytes", "runs", "median", "min", "bytes_per_second", "times_faster"];
    writer.write_record(heading).expect("written to memory");

    for row in &document.results {
        let record = [
            row.sink.clone(),
            row.design.clone(),
            row.lines.to_string(),
            row.bytes.to_string(),
            row.times_ns.len().to_string(),
            (row.median_ns / 1e9).to_string(),
            (row.min_ns / 1e9).to_string(),
            optional(row.bytes_per_second),
            optional(row.times_faster.map(|ratio| ratio.ratio)),
        ];
        writer.write_record(record).expect("written to memory");
    }
    String::from_utf8(writer.into_inner().expect("written to memory")).expect("text was written")
}
