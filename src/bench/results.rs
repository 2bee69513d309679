//! From series to the entries of a document.

use super::experiment::Measured;
use super::named_spans::{named_spans, pairs, region_times};
use super::processor_time::Divided;
use super::sample::{BothKinds, Printed, Sample, Series};
use crate::document::bench as document;
use crate::document::bench::{
    Above, Cache, Distribution, Failed, FloorRatio, Measurement, MedianCounts, Metric, OutputSummary,
    Overhead, PhaseTimes, Ratio, Relative, ShareBelow, Skipped, Tool,
};
use crate::document::conditions::Conditions;
use crate::document::processor_time::DIVIDED_BY_TICKS;
use crate::document::{Document, hyperfine, warnings};
use crate::stats::{Bootstrap, Statistics, judge, median, median_count, paired};
use firstbyte_measure::counters::CounterValues;

use firstbyte_measure::tracer::Tracer;
use firstbyte_measure::tracer::choose::Chosen;
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// The series with which the results of a document are compared.
#[derive(Clone, Debug, Default)]
pub struct ComparedWith {
    /// The name of the series that is the floor of all others.
    pub floor: Option<&'static str>,
    /// The threshold for which the share of runs below it is wanted.
    pub threshold: Option<Nanos>,
    /// The series that the others are compared with.
    pub reference: Option<usize>,
    /// The series whose times are subtracted from the others.
    pub baseline: Option<usize>,
    /// Every run is written as hyperfine 2 does, too.
    pub for_hyperfine: bool,
}

/// The series with which one series is compared. The samples of all of them were taken in the same rounds.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    pub cache: Option<Cache>,
    pub floor: Option<&'a Series>,
    /// The threshold for which the share of runs below it is wanted.
    pub threshold: Option<Nanos>,
    pub reference: Option<&'a Series>,
    /// The series whose times are subtracted.
    pub baseline: Option<&'a Series>,
    /// Every run is written as hyperfine 2 does, too.
    pub for_hyperfine: bool,
}

/// A document without results: the tool and the machine.
pub fn header(chosen: &Chosen<Box<dyn Tracer>>) -> Document {
    let tool = Tool {
        name: "firstbyte".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        backend: Some(chosen.tracer.backend().name().to_owned()),
        backend_reason: Some(chosen.reason.clone()),
        observer_overhead: Vec::new(),
    };
    Document::new(tool, crate::document::this_machine())
}

/// The document of finished runs. `header`: the document without results.
pub fn finished(header: &Document, measured: &Measured, compared: &ComparedWith) -> Document {
    let mut document = document_so_far(header, &measured.series, compared);
    let given_up = measured.ending.given_up.iter().map(|&program| &measured.series[program]);
    document.failed.extend(given_up.filter_map(given_up_entry));
    document.broken = measured.ending.broken.as_ref().map(ToString::to_string);
    document.partial = measured.is_partial();
    document.executions = Some(measured.executions);
    document.warnings = warnings::of(&document);
    document
}

/// What was measured in two states of the page cache. Warnings about the machine are given once.
pub fn merge(mut first: Document, second: Document) -> Document {
    first.results.extend(second.results);
    first.failed.extend(second.failed);
    let skipped = second.skipped.into_iter().filter(|skipped| !first.skipped.contains(skipped));
    first.skipped.extend(skipped.collect::<Vec<_>>());
    first.tool.observer_overhead.extend(second.tool.observer_overhead);
    first.broken = first.broken.or(second.broken);
    first.partial |= second.partial;
    first.executions = first.executions.into_iter().chain(second.executions).reduce(|a, b| a + b);
    first.add_warnings(second.warnings);
    first
}

/// The document of the runs that were made until now.
pub fn document_so_far(header: &Document, series: &[Series], compared: &ComparedWith) -> Document {
    let floor =
        series.iter().find(|program| compared.floor == Some(&*program.name) && !program.samples.is_empty());
    let other = |index: Option<usize>, program: usize| {
        index.filter(|index| *index != program).and_then(|index| series.get(index))
    };
    let mut document = header.clone();

    for (index, program) in series.iter().enumerate() {
        let context = Context {
            cache: Some(cache(program)),
            floor,
            threshold: compared.threshold,
            reference: other(compared.reference, index),
            baseline: other(compared.baseline, index),
            for_hyperfine: compared.for_hyperfine,
        };
        match measurement(program, &context) {
            Ok(measurement) => document.results.push(measurement),
            Err(Failed { name, reason, runs: 0, .. }) => {
                document.skipped.push(Skipped { name, reason, install: None });
            }
            Err(failed) => document.failed.push(failed),
        }
    }

    document.tool.observer_overhead = series.iter().filter_map(overhead).collect();
    document
}

fn cache(series: &Series) -> Cache {
    if series.cold.is_some() { Cache::Cold } else { Cache::Warm }
}

/// The entry of one series. If none of its runs counted, the entry of a failed program.
pub fn measurement(series: &Series, context: &Context) -> Result<Measurement, Failed> {
    let samples = &series.samples;
    let walls: Vec<f64> = samples.iter().map(|s| seconds(s.wall)).collect();
    let Some(wall) = Statistics::of(&walls) else { return Err(failed(series, context)) };
    let Divided { cpu, user, system, why_not, traced } = Divided::of(series);
    let runs = if context.for_hyperfine { runs(series, cpu) } else { Vec::new() };

    let command_line = series.given_name.is_some().then(|| series.command.clone());
    Ok(Measurement {
        command: series.given_name.as_ref().unwrap_or(&series.command).clone(),
        command_line,
        mean: wall.mean,
        stddev: wall.stddev,
        median: wall.median,
        user,
        system,
        min: wall.min,
        max: wall.max,
        times: walls,
        memory_usage_byte: memory(series),
        context_switches: samples
            .iter()
            .map(|s| s.context_switches)
            .collect::<Option<_>>()
            .unwrap_or_default(),
        exit_codes: samples.iter().map(|s| s.exit.code()).collect(),
        killed_by: killed_by(series),
        parameters: series.parameters.clone(),
        environment: variables(series).filter(|_| context.for_hyperfine).unwrap_or_default(),
        summary: hyperfine::summaries(&runs),
        measurements: runs,
        name: Some(series.name.clone()),
        cache: context.cache,
        plan: series.conditions.as_ref().map(Conditions::to_value).unwrap_or_default(),
        phases: phases(samples),
        counts: counts(series),
        varying: varying(series),
        uncounted: series.uncounted.clone(),
        influences: series.influences.clone(),
        cpu: Some(cpu),
        undivided: why_not,
        unseen_write: unseen_write(samples),
        processor: traced,
        marks: named_spans(series, context.reference),
        resident: series.resident.clone(),
        cold: series.cold.clone().map(|cold| with_costs(cold, samples)),
        output: series.output.map(output),
        lost_events: series.lost_events,
        rejected: series.rejected.clone(),
        file_size: series.file_size.map(|b| b.0),
        floor_ratio: context.floor.and_then(|floor| floor_ratio(series, floor)),
        share_below: context.threshold.and_then(|threshold| share_below(samples, threshold)),
        relative: context.reference.map(|reference| relative(series, reference)).unwrap_or_default(),
        above: context.baseline.map(|baseline| above(series, baseline)).unwrap_or_default(),
    })
}

/// Only a single stop leaves it unseen.
fn unseen_write(samples: &[Sample]) -> Option<String> {
    let is_unseen = |sample: &Sample| {
        sample.first_byte.is_some() && sample.phases.is_some_and(|phases| phases.write.is_none())
    };
    samples.iter().any(is_unseen).then(|| UNSEEN_WRITE.to_owned())
}

/// Why a write has no time of its own.
const UNSEEN_WRITE: &str =
    "it is a part of `setup`, because ptrace stopped the program only at the return of execve";

fn variables(series: &Series) -> Option<BTreeMap<String, String>> {
    series.conditions.as_ref().map(|conditions| conditions.variables.clone())
}

/// Each run as hyperfine 2 writes it. `cpu`: the mean of their processor times, in seconds.
fn runs(series: &Series, cpu: f64) -> Vec<hyperfine::Run> {
    let (memory, samples) = (memory(series), &series.samples);
    let each = samples.iter().enumerate().map(|(index, sample)| {
        let [user, system] = [sample.user, sample.system].map(seconds);
        let divided = (cpu >= DIVIDED_BY_TICKS).then_some([user, system]);
        let times = hyperfine::RunTimes { wall: seconds(sample.wall), cpu: user + system, divided };
        hyperfine::Run::new(times, memory.get(index).copied(), sample.exit.code())
    });
    each.collect()
}

fn output(printed: Printed) -> OutputSummary {
    let Printed { bytes, least, most, checked } = printed;
    OutputSummary { bytes, ok: checked.then_some(true), varying: (least < most).then_some([least, most]) }
}

/// Wall time of the traced runs over that of the untraced ones, block by block; `None` without untraced runs.
pub fn overhead(series: &Series) -> Option<Overhead> {
    let comparison = BothKinds::overhead(&BothKinds::medians(&series.blocks()))?;
    Some(Overhead { name: series.name.clone(), ratio: comparison.into() })
}

/// The entry of a program that was given up after some runs had counted. Those runs have a separate entry.
pub(super) fn given_up_entry(series: &Series) -> Option<Failed> {
    let counted = series.samples.len();
    let last = series.rejected.last().filter(|_| counted > 0)?;
    Some(Failed {
        name: series.name.clone(),
        command: series.command.clone(),
        cache: Some(cache(series)),
        reason: format!("given up after {counted} runs: {}", last.reason),
        runs: counted + series.rejected.len(),
        stderr: last.stderr.clone(),
    })
}

fn failed(series: &Series, context: &Context) -> Failed {
    let first = series.rejected.first();
    let reason = first.map_or("no run was made", |rejected| &rejected.reason);
    Failed {
        name: series.name.clone(),
        command: series.command.clone(),
        cache: context.cache,
        reason: reason.to_owned(),
        runs: series.rejected.len(),
        stderr: first.map(|rejected| rejected.stderr.clone()).unwrap_or_default(),
    }
}

/// Peak resident set sizes in bytes. The kernel's figure is useless for a program that is smaller than firstbyte. The figure
/// of the counting runs (`VmHWM`) is always right.
fn memory(series: &Series) -> Vec<u64> {
    let counted = counts(series).max_rss;
    let of = |sample: &Sample| sample.max_rss.map(|bytes| bytes.0).or(counted);
    series.samples.iter().map(of).collect::<Option<_>>().unwrap_or_default()
}

/// The signals that ended runs, each once. Runs that firstbyte stops at their first byte end by its signal.
fn killed_by(series: &Series) -> Option<String> {
    if series.conditions.as_ref().is_some_and(|conditions| conditions.until.is_some()) {
        return None;
    }
    let signals: BTreeSet<String> = series.samples.iter().filter_map(|sample| sample.exit.signal()).collect();
    (!signals.is_empty()).then(|| signals.into_iter().collect::<Vec<_>>().join(", "))
}

fn seconds(ns: Nanos) -> f64 {
    ns.as_f64() / 1e9
}

fn phases(samples: &[Sample]) -> PhaseTimes {
    let seen: Vec<firstbyte_measure::timeline::Phases> = samples.iter().filter_map(|s| s.phases).collect();
    PhaseTimes {
        first_byte: Distribution::of(samples.iter().filter_map(|s| s.first_byte).map(|n| n.0).collect()),
        total: Distribution::of(samples.iter().map(|s| s.total.0).collect()),
        ..PhaseTimes::of(&seen)
    }
}

/// Medians of the counting runs. Without counting runs, the processes, threads and execs of the timed runs.
fn counts(series: &Series) -> MedianCounts {
    let counts = firstbyte_measure::Counts::combined(&series.counts, median_count);
    let counts = counts.map_or_else(|| counts_of_timed_runs(&series.samples), |medians| documented(&medians));
    with_counters(&counts, &series.counters)
}

fn documented(counts: &firstbyte_measure::Counts) -> MedianCounts {
    MedianCounts {
        processes: Some(counts.processes),
        threads: Some(counts.threads),
        execs: Some(counts.execs),
        syscalls: Some(counts.syscalls),
        page_faults: Some(counts.page_faults),
        major_faults: Some(counts.major_faults),
        files_opened: Some(counts.files_opened),
        failed_opens: Some(counts.failed_opens),
        bytes_read: Some(counts.bytes_read),
        writes: Some(counts.writes),
        // Every process needs memory, so 0 means that it was not measured.
        max_rss: Some(counts.max_rss).filter(|bytes| *bytes > 0),
        ..MedianCounts::default()
    }
}

/// Medians of what the processor counted.
fn with_counters(counts: &MedianCounts, runs: &[CounterValues]) -> MedianCounts {
    let count = |name: &str| median_count(runs.iter().filter_map(|run| run.get(name).copied()).collect());
    MedianCounts {
        instructions: count("instructions"),
        instructions_kernel: count("instructions_kernel"),
        cycles: count("cycles"),
        cycles_kernel: count("cycles_kernel"),
        branch_misses: count("branch_misses"),
        branch_misses_kernel: count("branch_misses_kernel"),
        cache_misses: count("cache_misses"),
        cache_misses_kernel: count("cache_misses_kernel"),
        ..*counts
    }
}

fn with_costs(cold: document::ColdRuns, samples: &[Sample]) -> document::ColdRuns {
    document::ColdRuns {
        major_faults: samples.iter().map(|sample| sample.major_faults).collect(),
        bytes_from_disk: samples.iter().map(|sample| sample.from_disk.0).collect(),
        ..cold
    }
}

/// Each count that was not the same in all counting runs.
fn varying(series: &Series) -> BTreeMap<String, [u64; 2]> {
    let mut extremes: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let counted = series.counts.iter().flat_map(|run| documented(run).known());
    let counters = series.counters.iter().flatten().map(|(name, count)| (name.as_str(), *count));
    for (name, count) in counted.chain(counters) {
        let [low, high] = extremes.entry(name.to_owned()).or_insert([count; 2]);
        (*low, *high) = (count.min(*low), count.max(*high));
    }
    extremes.retain(|_, [low, high]| low != high);
    extremes
}

fn counts_of_timed_runs(samples: &[Sample]) -> MedianCounts {
    let count = |of: fn(&Sample) -> u32| {
        // A program has at least one of each, so 0 means that it was not observed.
        median_count(samples.iter().map(of).map(u64::from).filter(|n| *n > 0).collect())
    };
    let (processes, threads, execs) = (count(|s| s.processes), count(|s| s.threads), count(|s| s.execs));
    MedianCounts { processes, threads, execs, ..MedianCounts::default() }
}

/// The samples' first bytes, or their totals if one of them has no first byte.
fn times(samples: &[Sample]) -> (Metric, Vec<f64>) {
    let first_bytes: Option<Vec<f64>> = samples.iter().map(|s| s.first_byte.map(Nanos::as_f64)).collect();
    match first_bytes {
        Some(first_bytes) => (Metric::FirstByte, first_bytes),
        None => (Metric::Total, totals(samples)),
    }
}

fn totals(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|s| s.total.as_f64()).collect()
}

fn floor_ratio(series: &Series, floor: &Series) -> Option<FloorRatio> {
    let ((of, mut over), (floor_of, mut under)) = (times(&series.samples), times(&floor.samples));
    let of = if of == floor_of { of } else { Metric::Total };
    if of == Metric::Total {
        (over, under) = (totals(&series.samples), totals(&floor.samples));
    }
    let ratio: Ratio = paired(&under, &over, Bootstrap::default())?.into();
    Some(FloorRatio { floor: floor.name.clone(), of, ratio })
}

/// Each duration that all samples of both have: the first series, then the second, in nanoseconds, run by run.
fn shared(series: &Series, other: &Series) -> Vec<(Metric, Vec<f64>, Vec<f64>)> {
    let both = [Metric::FirstByte, Metric::Total].into_iter().filter_map(|of| {
        let times = |series: &Series| -> Option<Vec<f64>> {
            series.samples.iter().map(|sample| duration(sample, of)).collect()
        };
        Some((of, times(series)?, times(other)?))
    });
    let of = |of: Metric, (ours, theirs)| (of, ours, theirs);
    let user = pairs(&user_times(series), &user_times(other)).map(|both| of(Metric::User, both));
    let region = pairs(region_times(series), region_times(other)).map(|both| of(Metric::Region, both));
    both.chain(user).chain(region).collect()
}

fn duration(sample: &Sample, of: Metric) -> Option<f64> {
    match of {
        Metric::FirstByte => sample.first_byte.map(Nanos::as_f64),
        Metric::Total => Some(sample.total.as_f64()),
        Metric::User | Metric::Region => None,
    }
}

fn user_times(series: &Series) -> Vec<(u32, Nanos)> {
    series.processor.iter().map(|(round, run)| (*round, run.user)).collect()
}

fn relative(series: &Series, reference: &Series) -> Vec<Relative> {
    let each = shared(series, reference).into_iter().filter_map(|(of, new, old)| {
        let comparison = judge(&old, &new)?;
        let verdict = comparison.verdict();
        Some(Relative { reference: reference.name.clone(), of, ratio: comparison.into(), verdict })
    });
    each.collect()
}

fn above(series: &Series, baseline: &Series) -> Vec<Above> {
    let each = shared(series, baseline).into_iter().filter_map(|(of, ours, theirs)| {
        let mut differences: Vec<f64> =
            ours.iter().zip(&theirs).map(|(ours, theirs)| ours - theirs).collect();
        let interval = Bootstrap::default().median_interval(&differences)?;
        differences.sort_unstable_by(f64::total_cmp);
        let median = median(&differences)?;
        Some(Above { baseline: baseline.name.clone(), of, median, low: interval.low, high: interval.high })
    });
    each.collect()
}

fn share_below(samples: &[Sample], threshold: Nanos) -> Option<ShareBelow> {
    let (of, times) = times(samples);
    Some(ShareBelow { threshold_ns: threshold.0, of, share: share_of_times(&times, threshold)? })
}

/// `None` if there are none.
fn share_of_times(times: &[f64], threshold: Nanos) -> Option<f64> {
    let below = times.iter().filter(|ns| **ns < threshold.as_f64()).count();
    (!times.is_empty()).then(|| below as f64 / times.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::conditions::{EndedBy, PlacedOn};
    use firstbyte_measure::launch::ExitStatus;
    use firstbyte_measure::timeline::marks::MarkSums;
    use firstbyte_measure::units::Bytes;

    #[test]
    fn a_share_is_of_the_runs_that_took_less() {
        let share = |times: &[f64]| share_of_times(times, Nanos(10));
        assert_eq!(share(&[9.0, 10.0, 11.0, 2.0]), Some(0.5));
        assert_eq!((share(&[1.0]), share(&[10.0]), share(&[])), (Some(1.0), Some(0.0), None));
    }

    #[test]
    fn a_program_that_we_stop_is_not_killed_by_that_signal() {
        let ended = |until| Series {
            samples: vec![killed_sample()],
            conditions: Some(Conditions {
                output: "pipe",
                cpus: None,
                placement: PlacedOn::Any,
                until,
                input: false,
                shell: None,
                env_offset: false,
                variables: BTreeMap::new(),
            }),
            ..Series::default()
        };
        assert_eq!(killed_by(&ended(None)).as_deref(), Some("SIGTERM"));
        assert_eq!(killed_by(&ended(Some(EndedBy::FirstByte))), None);
    }

    fn killed_sample() -> Sample {
        Sample {
            phases: None,
            first_byte: None,
            total: Nanos(1),
            wall: Nanos(1),
            user: Nanos(0),
            system: Nanos(0),
            max_rss: None,
            major_faults: 0,
            from_disk: Bytes(0),
            context_switches: None,
            exit: ExitStatus::Signal(15),
            processes: 0,
            threads: 0,
            execs: 0,
            marks: MarkSums::default(),
        }
    }
}
