//! The metrics that `--metrics` chose: their values, as lines of text and as columns of tables.

use super::row::{MeasurementColumn, UNKNOWN, fine_ratio};
use crate::document::Document;
use crate::document::bench::{Distribution, Measurement};
use crate::document::hyperfine::Run;
use crate::document::metrics::{Dimension, MetricEntry, Selected, Source};
use crate::output::visible;
use crate::stats::{Bootstrap, Interval, Statistics};
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::{display_bytes, display_count, display_nanos};

/// The values of a metric over the runs of a program, in nanoseconds, bytes or counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Values {
    pub(crate) median: f64,
    /// `None` for counting runs, of which the median is kept.
    pub(crate) mean: Option<f64>,
    pub(crate) stddev: Option<f64>,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The 95 % interval of the median; `None` for one run, and for counting runs.
    interval: Option<Interval>,
}

impl Values {
    /// `None` if the program has no such values.
    pub(crate) fn of(metric: &MetricEntry, measurement: &Measurement) -> Option<Values> {
        let m = measurement;
        match metric.source {
            Source::Wall => Values::of_runs(m.times.iter().map(|seconds| seconds * 1e9)),
            Source::Cpu => of_each(m, |run| Some(run.time_cpu.value * 1e9)),
            Source::User => match &m.processor {
                Some(times) => Some(Values::from(&times.user)),
                None => of_each(m, |run| Some(run.time_user?.value * 1e9)),
            },
            Source::System => match &m.processor {
                Some(times) => {
                    of_each(m, |run| Some((run.time_cpu.value * 1e9 - times.user.median).max(0.0)))
                }
                None => of_each(m, |run| Some(run.time_system?.value * 1e9)),
            },
            Source::Burnt => m.processor.as_ref().map(|times| Values::from(&times.burnt)),
            Source::Memory => Values::of_runs(m.memory_usage_byte.iter().map(|bytes| *bytes as f64))
                .or_else(|| counted(m, "max_rss")),
            Source::Switches => Values::of_runs(m.context_switches.iter().map(|switches| *switches as f64)),
            Source::FirstByte => m.phases.first_byte.as_ref().map(Values::from),
            Source::Total => m.phases.total.as_ref().map(Values::from),
            Source::Phase(phase) => m.phases.get(phase).map(Values::from),
            Source::Share(phase) => shares(m, phase),
            Source::Region => m.region().map(Values::from),
            Source::StraceLines => strace_lines(m),
            Source::Counted(name) | Source::Processor(name) => counted(m, name),
            Source::Nowhere => None,
        }
    }

    fn of_runs(values: impl Iterator<Item = f64>) -> Option<Values> {
        let values: Vec<f64> = values.collect();
        let Statistics { n, median, mean, stddev, min, max, .. } = Statistics::of(&values)?;
        let interval = Bootstrap::default().median_interval(&values).filter(|_| n > 1);
        Some(Values { median, mean: Some(mean), stddev, min, max, interval })
    }
}

impl From<&Distribution> for Values {
    fn from(times: &Distribution) -> Values {
        let Distribution { median, mean, stddev, min, max, low, high, .. } = *times;
        let interval = (times.samples.len() > 1).then_some(Interval { low, high });
        Values { median, mean: Some(mean), stddev, min, max, interval }
    }
}

/// `None` if a run does not have the value.
fn of_each(measurement: &Measurement, value: impl Fn(&Run) -> Option<f64>) -> Option<Values> {
    let values: Option<Vec<f64>> = measurement.measurements.iter().map(value).collect();
    Values::of_runs(values?.into_iter())
}

/// The share of a phase in the total of each run, in percent. A phase that only some runs have has none.
fn shares(measurement: &Measurement, phase: Phase) -> Option<Values> {
    let (part, total) = (measurement.phases.get(phase)?, measurement.phases.total.as_ref()?);
    let runs = part.samples.iter().zip(&total.samples).filter(|(_, total)| **total > 0);
    let values = runs.map(|(part, total)| *part as f64 / *total as f64 * 100.0);
    if part.samples.len() == total.samples.len() { Values::of_runs(values) } else { None }
}

/// `strace -f` prints a line for each system call and for the end of each thread. It prints more if threads interrupt each
/// other's calls, or if there are signals.
fn strace_lines(measurement: &Measurement) -> Option<Values> {
    let [calls, threads] = [counted(measurement, "syscalls")?, counted(measurement, "threads")?];
    let sum = |of: fn(&Values) -> f64| of(&calls) + of(&threads);
    let (median, min, max) = (sum(|v| v.median), sum(|v| v.min), sum(|v| v.max));
    Some(Values { median, mean: None, stddev: None, min, max, interval: None })
}

/// The median of the counting runs, and their extremes.
fn counted(measurement: &Measurement, name: &str) -> Option<Values> {
    let (_, median) = measurement.counts.known().into_iter().find(|(known, _)| *known == name)?;
    let [min, max] = measurement.varying.get(name).copied().unwrap_or([median; 2]);
    let [median, min, max] = [median, min, max].map(|count| count as f64);
    Some(Values { median, mean: None, stddev: None, min, max, interval: None })
}

/// The metrics that were chosen; `None` if the usual figures are shown.
pub(crate) fn shown(document: &Document) -> Option<Vec<Selected>> {
    let selection = &document.shown;
    let is_known = |selected: &Selected| {
        document.results.iter().any(|measurement| Values::of(selected.metric, measurement).is_some())
    };
    let shown = selection.metrics.iter().filter(|selected| !selection.only_known || is_known(selected));
    (!selection.metrics.is_empty()).then(|| shown.copied().collect())
}

/// A column for each chosen metric, with its medians; `None` if the usual columns are shown.
pub(crate) fn columns(document: &Document) -> Option<Vec<MeasurementColumn>> {
    let column = |selected: Selected| {
        MeasurementColumn::new(selected.metric.name, move |measurement| {
            let values = Values::of(selected.metric, measurement);
            values.map_or_else(|| UNKNOWN.to_owned(), |values| display(&selected, values.median))
        })
    };
    Some(shown(document)?.into_iter().map(column).collect())
}

/// A line for each chosen metric of a program, with its name; none if the usual figures are shown.
pub(crate) fn lines(document: &Document, measurement: &Measurement) -> Vec<(&'static str, String)> {
    let Some(shown) = shown(document) else { return Vec::new() };
    let lines = shown.iter().map(|selected| (selected.metric.name, line(selected, document, measurement)));
    lines.chain([("runs", measurement.times.len().to_string())]).collect()
}

fn line(selected: &Selected, document: &Document, measurement: &Measurement) -> String {
    let Some(values) = Values::of(selected.metric, measurement) else {
        return format!("{UNKNOWN} ({})", why_missing(selected.metric, document, measurement));
    };
    let against = against(selected.metric, &values, document, measurement);
    figures(selected, &values) + &against.map_or(String::new(), |against| format!("   {against}"))
}

/// The median with half of its interval, the mean and the range; of counting runs the median and the range.
fn figures(selected: &Selected, values: &Values) -> String {
    let shown = |value| display(selected, value);
    let [median, min, max] = [values.median, values.min, values.max].map(shown);
    let Some((mean, interval)) = values.mean.zip(values.interval) else {
        return if values.min < values.max { format!("{median} ({min} to {max})") } else { median };
    };

    let half = (interval.high - interval.low) / 2.0;
    let percent = if values.median > 0.0 { half / values.median * 100.0 } else { 0.0 };
    let spread = values.stddev.map_or(String::new(), |stddev| format!(" ± {}", shown(stddev)));
    format!("{median} ± {percent:.1} %   mean {}{spread}   {min} … {max}", shown(mean))
}

/// The median over that of the reference. It is no verdict: the summary has those.
fn against(
    metric: &MetricEntry,
    values: &Values,
    document: &Document,
    measurement: &Measurement,
) -> Option<String> {
    let name = &measurement.relative.first()?.reference;
    let mut others = document.results.iter();
    let reference = others.find(|m| m.label() == name && m.cache == measurement.cache)?;
    let theirs = Values::of(metric, reference).filter(|theirs| theirs.median > 0.0)?;
    Some(format!("{} × `{}`", fine_ratio(values.median / theirs.median), visible(name)))
}

/// Why a program has no values of a metric.
fn why_missing(metric: &MetricEntry, document: &Document, measurement: &Measurement) -> String {
    let m = measurement;
    let is_output = matches!(metric.name, "first_byte" | "write" | "write_share");
    match metric.source {
        Source::FirstByte | Source::Phase(_) | Source::Share(_) if is_output && m.prints_nothing() => {
            "it prints nothing".into()
        }
        Source::Phase(Phase::Write) | Source::Share(Phase::Write) if m.unseen_write.is_some() => {
            visible(m.unseen_write.as_deref().unwrap_or_default())
        }
        Source::FirstByte | Source::Total | Source::Phase(_) | Source::Share(_) => format!(
            "the {} backend does not see it here: see firstbyte doctor",
            document.tool.backend.as_deref().unwrap_or("unknown")
        ),
        Source::Switches => "a tracer that stops the program changes it: use --backend bpf or pipe".into(),
        Source::Counted(_) | Source::Memory | Source::StraceLines => uncounted(m),
        Source::Region => "no region was found: --from TEXT --to TEXT, see the warnings".into(),
        Source::Processor(_) if m.counts.syscalls.is_none() => uncounted(m),
        Source::Processor(_) if m.times.len() == 1 => "not counted with --runs 1".into(),
        Source::Processor(_) => "the processor counts nothing here: see firstbyte doctor".into(),
        Source::Nowhere => "firstbyte does not count it: see docs/from-hyperfine.md".into(),
        Source::Wall | Source::Cpu => "not recorded".into(),
        Source::User | Source::System | Source::Burnt => undivided(m),
    }
}

fn undivided(measurement: &Measurement) -> String {
    let why = measurement.undivided.as_deref();
    why.map_or_else(|| "it was not traced".to_owned(), visible)
}

fn uncounted(measurement: &Measurement) -> String {
    match &measurement.uncounted {
        Some(reason) => format!("not counted: in a counting run, {}", visible(reason)),
        None => "not counted: leave out --no-counts".to_owned(),
    }
}

/// A value in the unit that was asked for, or in the one that fits.
fn display(selected: &Selected, value: f64) -> String {
    match (selected.unit, selected.metric.dimension) {
        (Some(unit), _) if unit.symbol == "count" => number(value),
        (Some(unit), _) => format!("{} {}", number(value / unit.size), unit.symbol),
        (None, Dimension::Time) => display_nanos(value),
        (None, Dimension::Memory) => display_bytes(value),
        (None, Dimension::Count) => display_count(value),
        (None, Dimension::Share) => format!("{value:.1} %"),
    }
}

/// The maximum number of digits after the decimal point.
const DECIMALS: usize = 9;

/// A whole number, or at least three significant digits, as long as [`DECIMALS`] suffice.
fn number(value: f64) -> String {
    let mut scales = std::iter::successors(Some(1.0), |scale| Some(scale * 10.0)).take(DECIMALS);
    let decimals = scales.position(|scale| value.abs() * scale >= 99.95).unwrap_or(DECIMALS);
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.decimals$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(text: &str) -> Selected {
        text.parse::<crate::document::metrics::Selection>().unwrap().metrics[0]
    }

    #[test]
    fn a_requested_unit_is_kept_with_three_significant_digits_or_more() {
        for (metric, value, shown) in [
            ("total:ms", 1_234_000_000.0, "1234 ms"),
            ("total:s", 500_000.0, "0.000500 s"),
            ("total:us", 41_349.0, "41.3 µs"),
            ("memory_peak_resident:MiB", 1_572_864.0, "1.50 MiB"),
            ("syscalls:count", 35.0, "35"),
            ("syscalls:count", 35.5, "35.5"),
            ("instructions:M", 123_456_789.0, "123 M"),
            ("syscalls", 35.0, "35"),
            ("total:ms", 0.0, "0 ms"),
        ] {
            assert_eq!(display(&selected(metric), value), shown, "{metric}");
        }
    }

    #[test]
    fn every_metric_says_why_it_is_missing() {
        let text = r#"{"results": [{"command": "a", "mean": 1, "stddev": null, "median": 1, "user": 1,
            "system": 1, "min": 1, "max": 1}]}"#;
        let document = crate::document::read::parse(text, "a.json".as_ref()).unwrap();
        let document = Document { shown: "all".parse().unwrap(), ..document };
        let metrics = document.shown.metrics.iter().map(|selected| selected.metric);
        for metric in metrics {
            let (values, why) = (
                Values::of(metric, &document.results[0]),
                why_missing(metric, &document, &document.results[0]),
            );
            assert!(values.is_some() || !why.is_empty(), "{}", metric.name);
        }
        assert_eq!(
            columns(&document).map(|columns| columns.len()),
            Some(0),
            "of a preset only those that exist"
        );
    }
}
