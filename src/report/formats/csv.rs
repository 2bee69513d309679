//! Measured programs as CSV: hyperfine's columns in its order, then ours.

use crate::document::Document;
use crate::document::bench::{Cache, Distribution, Measurement, MedianCounts, PhaseTimes};
use crate::document::metrics::Selected;
use crate::report::metrics::{self, Values};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// hyperfine's columns, with times in seconds. Its `parameter_NAME` columns follow.
const HYPERFINE: [&str; 8] = ["command", "mean", "stddev", "median", "user", "system", "min", "max"];

/// The name of a column or a statistic, and its value.
type Named<T, Had> = (&'static str, fn(&T) -> Had);

/// Our own columns, one value for each result.
const OURS: [Named<Measurement, String>; 22] = [
    ("name", |m| m.label().to_owned()),
    ("cache", |m| m.cache.map_or(String::new(), |cache: Cache| cache.name().to_owned())),
    ("runs", |m| m.times.len().to_string()),
    ("cpu", |m| optional(m.cpu())),
    ("processes", |m| count(m, |c| c.processes)),
    ("threads", |m| count(m, |c| c.threads)),
    ("execs", |m| count(m, |c| c.execs)),
    ("syscalls", |m| count(m, |c| c.syscalls)),
    ("page_faults", |m| count(m, |c| c.page_faults)),
    ("major_faults", |m| count(m, |c| c.major_faults)),
    ("files_opened", |m| count(m, |c| c.files_opened)),
    ("failed_opens", |m| count(m, |c| c.failed_opens)),
    ("bytes_read", |m| count(m, |c| c.bytes_read)),
    ("writes", |m| count(m, |c| c.writes)),
    ("rss_bytes", |m| optional(m.rss())),
    ("file_size_bytes", |m| optional(m.file_size)),
    ("output_bytes", |m| optional(m.output.map(|output| output.bytes))),
    ("floor_ratio", |m| optional(m.floor_ratio.as_ref().map(|floor| floor.ratio.ratio))),
    ("share_below", |m| optional(m.share_below.map(|below| below.share))),
    ("lost_events", |m| m.lost_events.to_string()),
    ("rejected_runs", |m| m.rejected.len().to_string()),
    ("command_line", |m| m.command_line().to_owned()),
];

/// The statistics of each phase, in nanoseconds.
const STATISTICS: [Named<Distribution, f64>; 5] = [
    ("median", |d| d.median),
    ("mad", |d| d.mad),
    ("mean", |d| d.mean),
    ("min", |d| d.min),
    ("max", |d| d.max),
];

/// Headings and a line for each result. Unknown values are empty.
///
/// # Panics
///
/// Never: the records are written to memory.
pub fn render(document: &Document) -> String {
    let parameters: BTreeSet<&String> = document.results.iter().flat_map(|m| m.parameters.keys()).collect();
    if let Some(chosen) = metrics::shown(document) {
        return chosen_metrics(document, &chosen, &parameters);
    }
    let marks = named_spans(document);
    let mut text = line(&headings(&parameters, &marks));
    for measurement in &document.results {
        text += &line(&record(measurement, &parameters, &marks));
    }
    text
}

/// The names of the parts of all results, in the order in which they appear.
fn named_spans(document: &Document) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for span in document.results.iter().flat_map(|m| &m.marks) {
        if !names.contains(&&*span.name) {
            names.push(&span.name);
        }
    }
    names
}

fn headings(parameters: &BTreeSet<&String>, marks: &[&str]) -> Vec<String> {
    let mut headings: Vec<String> = HYPERFINE.map(str::to_owned).into();
    headings.extend(parameters.iter().map(|parameter| format!("parameter_{parameter}")));
    headings.extend(OURS.iter().map(|(heading, _)| (*heading).to_owned()));
    for (phase, _) in PhaseTimes::default().named() {
        headings.extend(STATISTICS.iter().map(|(statistic, _)| format!("{phase}_{statistic}_ns")));
    }
    for mark in marks {
        headings.extend(STATISTICS.iter().map(|(statistic, _)| format!("mark_{mark}_{statistic}_ns")));
    }
    headings
}

fn record(measurement: &Measurement, parameters: &BTreeSet<&String>, marks: &[&str]) -> Vec<String> {
    let m = measurement;
    let mut record = vec![m.command.clone(), m.mean.to_string(), optional(m.stddev)];
    record.extend([Some(m.median), m.user, m.system, Some(m.min), Some(m.max)].map(optional));
    record.extend(parameters.iter().map(|name| parameter(m, name)));
    record.extend(OURS.iter().map(|(_, cell)| cell(m)));
    for (_, distribution) in m.phases.named() {
        record.extend(STATISTICS.iter().map(|(_, of)| optional(distribution.map(of))));
    }
    for mark in marks {
        let span = m.marks.iter().find(|span| span.name == *mark);
        record.extend(STATISTICS.iter().map(|(_, of)| optional(span.map(|span| of(&span.times)))));
    }
    record
}

fn parameter(measurement: &Measurement, name: &str) -> String {
    match measurement.parameters.get(name) {
        Some(serde_json::Value::String(text)) => text.clone(),
        other => other.map_or(String::new(), ToString::to_string),
    }
}

/// As hyperfine 2 writes it: a group of columns for each metric that `--metrics` chose, then the parameters. Without a
/// unit, times are in seconds and sizes in bytes.
fn chosen_metrics(document: &Document, chosen: &[Selected], parameters: &BTreeSet<&String>) -> String {
    let of = |selected: &Selected| FIELDS.map(|field| format!("{}_{field}", selected.metric.name));
    let mut headings = vec!["command".to_owned()];
    headings.extend(chosen.iter().flat_map(of));
    headings.extend(parameters.iter().map(|parameter| format!("parameter_{parameter}")));
    headings.extend(["name", "cache"].map(str::to_owned));

    let mut text = line(&headings);
    for m in &document.results {
        let mut record = vec![m.command.clone()];
        record.extend(chosen.iter().flat_map(|selected| fields(selected, m)));
        record.extend(parameters.iter().map(|name| parameter(m, name)));
        record.extend([m.label().to_owned(), m.cache.map_or(String::new(), |cache| cache.name().to_owned())]);
        text += &line(&record);
    }
    text
}

/// What hyperfine 2 writes of each metric.
const FIELDS: [&str; 6] = ["unit", "mean", "stddev", "median", "min", "max"];

fn fields(selected: &Selected, measurement: &Measurement) -> [String; 6] {
    let unit = selected.unit.unwrap_or(selected.metric.dimension.base());
    let values = Values::of(selected.metric, measurement);
    let field =
        |of: fn(&Values) -> Option<f64>| optional(values.as_ref().and_then(of).map(|v| v / unit.size));

    let [mean, stddev] = [field(|values| values.mean), field(|values| values.stddev)];
    let [median, min, max] = [
        field(|values| Some(values.median)),
        field(|values| Some(values.min)),
        field(|values| Some(values.max)),
    ];
    [unit.symbol.to_owned(), mean, stddev, median, min, max]
}

fn count(measurement: &Measurement, of: fn(&MedianCounts) -> Option<u64>) -> String {
    optional(of(&measurement.counts))
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// One record, quoted where necessary (RFC 4180).
pub(crate) fn line(record: &[String]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(record.iter().map(|cell| as_text(cell).into_owned())).expect("memory can be written");
    let bytes = writer.into_inner().expect("memory can be written");
    String::from_utf8(bytes).expect("quoting text gives text")
}

/// A spreadsheet would take a command such as `=1+2` for a formula, and run it. An apostrophe makes it text. Numbers stay as they
/// are.
fn as_text(cell: &str) -> Cow<'_, str> {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err() {
        return format!("'{cell}").into();
    }
    cell.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let cells = ["=1+2", "+x", "@sum", "-r", "\t=1", "-5", "-1.5e-9", "ls", "a=b", ""].map(str::to_owned);
        assert_eq!(line(&cells), "'=1+2,'+x,'@sum,'-r,'\t=1,-5,-1.5e-9,ls,a=b,\n");
    }
}
