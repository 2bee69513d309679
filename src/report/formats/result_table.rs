//! The table of measured programs that every markup writes: its headings and cells, without markup.

use crate::document::Document;
use crate::document::bench::{Cache, Measurement, Metric, Ratio};
use crate::output::visible;
use crate::report::metrics;
use crate::report::row::{self, MeasurementColumn, UNKNOWN, fine_ratio};
use crate::stats::Verdict;
use firstbyte_measure::units::display_nanos;

/// One row for each result, warm before cold, ordered by first byte.
pub(super) struct ResultTable {
    /// Of the name, of the columns of text, of those of numbers.
    pub(super) headings: Vec<String>,
    /// How many columns of text there are, the name included.
    pub(super) texts: usize,
    pub(super) rows: Vec<ResultRow>,
}

pub(super) struct ResultRow {
    pub(super) name: String,
    /// Without the name.
    pub(super) cells: Vec<String>,
}

impl ResultTable {
    pub(super) fn of(document: &Document) -> ResultTable {
        let results: Vec<&Measurement> =
            row::ranking(document).into_iter().flat_map(|(_, rows)| rows).collect();
        let chosen = metrics::columns(document);
        // compared programs have few columns; the state of the page cache is one of them only if it matters
        let few = chosen.is_none() && document.compare_by.is_some();
        let has_cache = !few || results.iter().any(|m| m.cache == Some(Cache::Cold));
        let below = row::threshold(&results);
        let columns = match chosen {
            Some(columns) => columns,
            None if few => compared(document, &results),
            None => row::mean_and_minimum().into_iter().chain(row::times_and_counts()).collect(),
        };

        let mut headings = vec!["program".to_owned()];
        headings.extend(has_cache.then(|| "cache".to_owned()));
        let texts = headings.len();
        headings.extend(columns.iter().map(MeasurementColumn::plain_heading));
        headings.extend(below.clone());

        let line = |m: &&Measurement| {
            let cache = has_cache.then(|| m.cache.map_or(UNKNOWN, Cache::name).to_owned());
            let shown = columns.iter().map(|column| column.plain_cell(m));
            let cells = cache.into_iter().chain(shown).chain(below.as_ref().map(|_| row::below(m)));
            ResultRow { name: m.label().to_owned(), cells: cells.collect() }
        };
        ResultTable { headings, texts, rows: results.iter().map(line).collect() }
    }
}

/// What a reader of a comparison needs, each column with its measure. A column that is empty for all is left out.
fn compared(document: &Document, results: &[&Measurement]) -> Vec<MeasurementColumn> {
    let by = document.compared_by();
    let ratio = match by {
        Metric::Total => "total × reference (99 % interval)",
        Metric::FirstByte => "first byte × reference (99 % interval)",
        Metric::User => "user time × reference (99 % interval)",
        Metric::Region => "region × reference (99 % interval)",
    };
    let columns = [
        MeasurementColumn::new("first byte (median)", |m| {
            m.phases.first_byte.as_ref().map_or(UNKNOWN.to_owned(), |d| display_nanos(d.median))
        }),
        MeasurementColumn::new("total (median)", |m| {
            display_nanos(m.phases.total.as_ref().map_or(m.median * 1e9, |d| d.median))
        }),
        MeasurementColumn::new("total (95 % interval)", |m| {
            let interval = m.phases.total.as_ref().filter(|d| d.samples.len() > 1);
            interval.map_or(UNKNOWN.to_owned(), |d| {
                format!("{} to {}", display_nanos(d.low), display_nanos(d.high))
            })
        }),
        MeasurementColumn::new(ratio, move |m| against(m, by)),
        MeasurementColumn::new("system calls", |m| {
            m.counts.syscalls.map_or(UNKNOWN.to_owned(), |calls| calls.to_string())
        }),
    ];
    let columns = columns.into_iter().chain(named_spans(results));
    let is_known = |column: &MeasurementColumn| {
        let is_compared = results.iter().any(|m| m.relative_by(by).is_some());
        (column.heading != ratio || is_compared) && results.iter().any(|m| column.plain_cell(m) != UNKNOWN)
    };
    columns.filter(is_known).collect()
}

/// The ratio with its interval and the verdict.
fn against(measurement: &Measurement, by: Metric) -> String {
    let relative = measurement.relative_by(by);
    relative.map_or_else(|| "reference".to_owned(), |relative| judged(&relative.ratio, relative.verdict))
}

fn judged(ratio: &Ratio, verdict: Verdict) -> String {
    let [ratio, low, high] = [ratio.ratio, ratio.low, ratio.high].map(fine_ratio);
    format!("{ratio} ({low} to {high}), {verdict}")
}

/// The most columns of parts that have a name.
const MOST_SPANS: usize = 8;

/// A column for each of the first parts that have a name: its median, and how it compares with the reference.
fn named_spans(results: &[&Measurement]) -> Vec<MeasurementColumn> {
    let mut titles: Vec<String> = Vec::new();
    for span in results.iter().flat_map(|m| &m.marks) {
        if titles.len() < MOST_SPANS && !titles.contains(&span.name) {
            titles.push(span.name.clone());
        }
    }
    let column = |name: String| {
        let heading = format!("{} (median)", visible(&name));
        MeasurementColumn::new(heading, move |m| {
            let Some(span) = m.marks.iter().find(|span| span.name == name) else { return UNKNOWN.to_owned() };
            let against = span.relative.as_ref().map(|r| format!(", {}", judged(&r.ratio, r.verdict)));
            display_nanos(span.times.median) + &against.unwrap_or_default()
        })
    };
    titles.into_iter().map(column).collect()
}
