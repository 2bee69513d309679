//! Measured programs for github-action-benchmark, as `customSmallerIsBetter`:
//! <https://github.com/benchmark-action/github-action-benchmark#examples>.

use super::bencher::name;
use crate::document::Document;
use crate::document::bench::Measurement;
use serde_json::{Value, json};

/// Entries for the first byte, the total and each count of a result.
///
/// # Panics
///
/// Never: every key is a string.
pub fn render(document: &Document) -> String {
    let entries: Vec<Value> = document.results.iter().flat_map(entries).collect();
    serde_json::to_string_pretty(&entries).expect("every key is a string") + "\n"
}

fn entries(measurement: &Measurement) -> Vec<Value> {
    let name = name(measurement);
    let phases = &measurement.phases;
    let times = [("first byte", &phases.first_byte), ("total", &phases.total)];
    let mut entries: Vec<Value> = times
        .into_iter()
        .filter_map(|(what, distribution)| {
            let d = distribution.as_ref()?;
            Some(json!({
                "name": format!("{name}: {what}"),
                "unit": "ns",
                "value": d.median,
                "range": format!("{:.0} to {:.0}", d.low, d.high),
                "extra": format!("{} runs, median with its 95 % interval", d.samples.len()),
            }))
        })
        .collect();

    if entries.is_empty() {
        entries.push(json!({ "name": name, "unit": "ns", "value": measurement.median * 1e9 }));
    }

    let count =
        |(what, value)| json!({ "name": format!("{name}: {what}"), "unit": unit(what), "value": value });
    entries.extend(measurement.counts.known().into_iter().map(count));
    entries
}

fn unit(count: &str) -> &'static str {
    match count {
        "bytes_read" | "max_rss" => "bytes",
        _ => "count",
    }
}
