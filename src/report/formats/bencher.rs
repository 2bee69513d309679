//! Measured programs in Bencher Metric Format: <https://bencher.dev/docs/reference/bencher-metric-format/>.

use crate::document::Document;
use crate::document::bench::{Cache, Distribution, Measurement};
use serde_json::{Map, Value, json};

/// The longest benchmark name that Bencher takes, in bytes.
const MAX_NAME_BYTES: usize = 1024;

/// One benchmark for each result. `latency` (Bencher's own measure, in nanoseconds) is the wall time; phases and counts are
/// measures of their own.
///
/// # Panics
///
/// Never: every key is a string.
pub fn render(document: &Document) -> String {
    let mut benchmarks = Map::new();
    for measurement in &document.results {
        benchmarks.insert(name(measurement), Value::Object(measures(measurement)));
    }
    serde_json::to_string_pretty(&benchmarks).expect("every key is a string") + "\n"
}

/// The label, with `(cold)` for a cold result: names must be unique.
pub(crate) fn name(measurement: &Measurement) -> String {
    let mut name = measurement.label().to_owned();
    if measurement.cache == Some(Cache::Cold) {
        name += " (cold)";
    }
    let end = (0..=name.len().min(MAX_NAME_BYTES)).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name.truncate(end);
    name
}

fn measures(measurement: &Measurement) -> Map<String, Value> {
    let mut measures = Map::new();
    let wall = json!({
        "value": measurement.median * 1e9,
        "lower_value": measurement.min * 1e9,
        "upper_value": measurement.max * 1e9,
    });
    measures.insert("latency".to_owned(), wall);
    let known = measurement.phases.named().into_iter();
    let known = known.filter_map(|(name, distribution)| Some((name.to_owned(), metric(distribution?))));
    measures.extend(known);
    for (count, value) in measurement.counts.known() {
        measures.insert(count.to_owned(), json!({ "value": value }));
    }
    measures
}

fn metric(distribution: &Distribution) -> Value {
    json!({
        "value": distribution.median,
        "lower_value": distribution.low,
        "upper_value": distribution.high,
    })
}
