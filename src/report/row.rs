//! One measurement as a row: the columns with their headings and cells.

use crate::document::Document;
use crate::document::bench::{Cache, Distribution, Measurement};
use crate::output::visible;
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::{Bytes, Nanos, display_nanos};
use std::borrow::Cow;

/// Shown where nothing is known.
pub(crate) const UNKNOWN: &str = "–";

/// A column of a table.
pub(crate) struct MeasurementColumn {
    /// With `\n` where a narrow table may break it.
    pub(crate) heading: Cow<'static, str>,
    pub(crate) cell: Box<dyn Fn(&Measurement) -> String>,
}

impl MeasurementColumn {
    pub(crate) fn new(
        heading: impl Into<Cow<'static, str>>,
        cell: impl Fn(&Measurement) -> String + 'static,
    ) -> MeasurementColumn {
        MeasurementColumn { heading: heading.into(), cell: Box::new(cell) }
    }

    /// The heading in one line.
    pub(crate) fn plain_heading(&self) -> String {
        self.heading.replace('\n', " ")
    }

    /// The cell in one line.
    pub(crate) fn plain_cell(&self, measurement: &Measurement) -> String {
        (self.cell)(measurement).replace('\n', " ")
    }
}

/// The parts of a run's time.
pub(crate) fn times() -> Vec<MeasurementColumn> {
    let sums = [
        MeasurementColumn::new("first\nbyte", first_byte),
        MeasurementColumn::new("± %\nMAD", spread),
        MeasurementColumn::new("total", |m| time(m.phases.total.as_ref())),
    ];
    let of_phase = |phase: Phase| MeasurementColumn::new(phase.name(), move |m| time(m.phases.get(phase)));
    let phases = Phase::ALL.map(of_phase);
    sums.into_iter().chain(phases).chain([MeasurementColumn::new("×\nfloor", floor)]).collect()
}

/// Shares and counts.
pub(crate) fn counts() -> Vec<MeasurementColumn> {
    vec![
        MeasurementColumn::new("setup\n%", |m| share(m.phases.get(Phase::Setup), m)),
        MeasurementColumn::new("teardown\n%", |m| share(m.phases.get(Phase::Teardown), m)),
        MeasurementColumn::new("procs", |m| count(m.counts.processes)),
        MeasurementColumn::new("threads", |m| count(m.counts.threads)),
        MeasurementColumn::new("syscalls", |m| count(m.counts.syscalls)),
        MeasurementColumn::new("faults", |m| count(m.counts.page_faults)),
        MeasurementColumn::new("file\nsize", |m| size(m.file_size)),
        MeasurementColumn::new("RSS", |m| size(m.rss())),
    ]
}

/// The columns of [`statistics`] that the other tables do not have.
pub(crate) fn mean_and_minimum() -> Vec<MeasurementColumn> {
    statistics().into_iter().filter(|column| ["mean", "min"].contains(&&*column.heading)).collect()
}

pub(crate) fn times_and_counts() -> Vec<MeasurementColumn> {
    times().into_iter().chain(counts()).collect()
}

/// The statistics that Startup Showdown prints, and more.
pub(crate) fn statistics() -> Vec<MeasurementColumn> {
    vec![
        MeasurementColumn::new("mean", |m| display_nanos(figure(m, |d| d.mean, m.mean))),
        MeasurementColumn::new("median", |m| display_nanos(figure(m, |d| d.median, m.median))),
        MeasurementColumn::new("min", |m| display_nanos(figure(m, |d| d.min, m.min))),
        MeasurementColumn::new("max", |m| display_nanos(figure(m, |d| d.max, m.max))),
        MeasurementColumn::new("stddev", stddev),
        MeasurementColumn::new("p95", |m| known(m.ranked(), |d| display_nanos(d.p95))),
        MeasurementColumn::new("runs", |m| m.times.len().to_string()),
    ]
}

/// The measurements of each state of the page cache, warm first. They are ordered by first byte; those without one follow,
/// ordered by total.
pub(crate) fn ranking(document: &Document) -> Vec<(Option<Cache>, Vec<&Measurement>)> {
    let mut conditions: Vec<Option<Cache>> = document.results.iter().map(|m| m.cache).collect();
    conditions.sort_unstable();
    conditions.dedup();
    let of = |cache: Option<Cache>| {
        let mut rows: Vec<&Measurement> = document.results.iter().filter(|m| m.cache == cache).collect();
        rows.sort_by(|a, b| rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1)));
        (cache, rows)
    };
    conditions.into_iter().map(of).collect()
}

/// Whether it has a total without a first byte; then its time.
fn rank(measurement: &Measurement) -> (bool, f64) {
    let phases = &measurement.phases;
    (
        phases.first_byte.is_none() && phases.total.is_some(),
        figure(measurement, |d| d.median, measurement.median),
    )
}

/// A statistic of [`Measurement::ranked`], or `wall` (in seconds) if a file has no phases; in nanoseconds.
fn figure(measurement: &Measurement, of: fn(&Distribution) -> f64, wall: f64) -> f64 {
    measurement.ranked().map_or(wall * 1e9, of)
}

fn stddev(measurement: &Measurement) -> String {
    let of_wall = measurement.stddev.map(|seconds| seconds * 1e9);
    known(measurement.ranked().map_or(of_wall, |d| d.stddev), display_nanos)
}

fn known<T>(value: Option<T>, shown: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), shown)
}

/// The label, safe to show. A star refers to the note about files of the machine that slow it.
pub(crate) fn name(measurement: &Measurement) -> String {
    let mark = if measurement.influences.is_empty() { "" } else { "*" };
    visible(measurement.label()) + mark
}

fn first_byte(measurement: &Measurement) -> String {
    if measurement.phases.first_byte.is_none() && measurement.prints_nothing() {
        return "prints\nnothing".to_owned();
    }
    time(measurement.phases.first_byte.as_ref())
}

/// Median absolute deviation of the first byte, in percent of its median.
fn spread(measurement: &Measurement) -> String {
    // one run has no spread
    let several = measurement.ranked().filter(|d| d.median > 0.0 && d.samples.len() > 1);
    let relative = several.map(|d| d.mad / d.median);
    known(relative, percents)
}

fn time(distribution: Option<&Distribution>) -> String {
    known(distribution, |d| display_nanos(d.median))
}

fn share(of: Option<&Distribution>, measurement: &Measurement) -> String {
    known(share_of_total(of, measurement), percents)
}

/// Median of a phase over the median total.
pub(crate) fn share_of_total(of: Option<&Distribution>, measurement: &Measurement) -> Option<f64> {
    let total = measurement.phases.total.as_ref().filter(|total| total.median > 0.0)?;
    Some(of?.median / total.median)
}

/// Whole percents, with their sign: `70 %`.
pub(crate) fn percent(part: f64) -> String {
    percents(part) + " %"
}

/// Whole percents, for columns whose heading has the sign. Only nothing is `0`, and only everything is `100`.
pub(crate) fn percents(part: f64) -> String {
    match part {
        p if p > 0.0 && p < 0.005 => "<1".to_owned(),
        p if (0.995..1.0).contains(&p) => ">99".to_owned(),
        p => format!("{:.0}", p * 100.0),
    }
}

fn floor(measurement: &Measurement) -> String {
    known(measurement.floor_ratio.as_ref(), |floor| ratio(floor.ratio.ratio))
}

/// A ratio with three significant digits.
pub(crate) fn ratio(ratio: f64) -> String {
    match ratio {
        r if r < 0.9995 => format!("{r:.3}"),
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 99.95 => format!("{r:.1}"),
        r => format!("{r:.0}"),
    }
}

/// A ratio near 1 with one digit more.
pub(crate) fn fine_ratio(value: f64) -> String {
    if (0.5..2.0).contains(&value) { format!("{value:.3}") } else { ratio(value) }
}

fn count(count: Option<u64>) -> String {
    known(count, |count| count.to_string())
}

fn size(bytes: Option<u64>) -> String {
    known(bytes, |bytes| Bytes(bytes).to_string())
}

/// The share of the runs below the threshold.
pub(crate) fn below(measurement: &Measurement) -> String {
    known(measurement.share_below, |below| percent(below.share))
}

/// The heading of [`below`]; `None` without a threshold.
pub(crate) fn threshold(rows: &[&Measurement]) -> Option<String> {
    let threshold = rows.iter().find_map(|m| m.share_below)?.threshold_ns;
    Some(format!("< {}", Nanos(threshold)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_whole_and_a_little_is_not_nothing() {
        let shown = [0.0, 0.004, 0.0051, 0.4949, 0.87, 0.9967, 1.0, 1.203].map(percent);
        assert_eq!(shown, ["0 %", "<1 %", "1 %", "49 %", "87 %", ">99 %", "100 %", "120 %"]);
    }

    #[test]
    fn ratios_keep_three_significant_digits() {
        assert_eq!(
            [0.5, 0.9996, 1.0, 9.994, 9.996, 41.26, 415.3].map(ratio),
            ["0.500", "1.00", "1.00", "9.99", "10.0", "41.3", "415"]
        );
    }
}
