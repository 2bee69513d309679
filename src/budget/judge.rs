//! What was measured, set against a budget.

use super::file::Program;
use super::value::{AtMost, Limit};
use crate::document::bench::{Distribution, Measurement};
use serde::Serialize;

/// Whether a budget was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was.
    Met,
    /// Exceeded by no more than the tolerance, or, for a time, by no more than its interval leaves open.
    Tolerated,
    /// It was not.
    Missed,
    /// It was not measured here.
    Unknown,
}

/// One budget, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Its name in the file.
    pub what: &'static str,
    /// What it is a number of.
    pub unit: Unit,
    /// The budget.
    pub budget: u64,
    /// The median.
    pub measured: Option<f64>,
    /// The ends between which it lies: a time's 95 % interval, the smallest and the largest of a count that varies.
    pub range: Option<[f64; 2]>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What a figure is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Nothing: a count.
    Count,
}

/// A figure of a measurement.
#[derive(Clone, Copy)]
struct Figure {
    what: &'static str,
    unit: Unit,
    median: Option<f64>,
    range: Option<[f64; 2]>,
}

/// By how much page faults may exceed their budget if it says nothing of it: where the kernel places a program is
/// drawn by lot, and with it how many pages it touches.
const FAULTS: f64 = 0.02;

/// Likewise for instructions: an interrupt adds one, and where things lie in memory decides how long a search takes.
const INSTRUCTIONS: f64 = 0.01;

/// Likewise for the peak of memory, which the kernel sums up by processor, in batches.
const MEMORY: f64 = 0.05;

/// Every budget of a program, in the order of the file's documentation.
pub fn judge(program: &Program, measurement: &Measurement) -> Vec<Judged> {
    let (counts, phases) = (&measurement.counts, &measurement.phases);
    let count = |what: &'static str, name: &'static str, unit, median: Option<u64>| {
        let range = measurement.varying.get(name).map(|range| range.map(|n| n as f64));
        Figure { what, unit, median: median.map(|n| n as f64), range }
    };
    let plain = |name, median| count(name, name, Unit::Count, median);
    let all = [
        kept(program.first_byte, 0.0, time("first_byte", phases.first_byte.as_ref())),
        kept(program.total, 0.0, time("total", phases.total.as_ref())),
        kept(program.processes, 0.0, plain("processes", counts.processes)),
        kept(program.threads, 0.0, plain("threads", counts.threads)),
        kept(program.execs, 0.0, plain("execs", counts.execs)),
        kept(program.syscalls, 0.0, plain("syscalls", counts.syscalls)),
        kept(program.page_faults, FAULTS, plain("page_faults", counts.page_faults)),
        kept(program.major_faults, 0.0, plain("major_faults", counts.major_faults)),
        kept(program.files_opened, 0.0, plain("files_opened", counts.files_opened)),
        kept(program.failed_opens, 0.0, plain("failed_opens", counts.failed_opens)),
        kept(program.bytes_read, 0.0, count("bytes_read", "bytes_read", Unit::Bytes, counts.bytes_read)),
        kept(program.writes, 0.0, plain("writes", counts.writes)),
        kept(program.instructions, INSTRUCTIONS, plain("instructions", counts.instructions)),
        kept(
            program.rss,
            MEMORY,
            count("rss", "max_rss", Unit::Bytes, crate::report::text::row::rss(measurement)),
        ),
    ];
    all.into_iter().flatten().collect()
}

fn time(what: &'static str, times: Option<&Distribution>) -> Figure {
    let (median, range) = (times.map(|t| t.median), times.map(|t| [t.low, t.high]));
    Figure { what, unit: Unit::Nanoseconds, median, range }
}

fn kept<T: Limit>(budget: Option<AtMost<T>>, usual: f64, figure: Figure) -> Option<Judged> {
    let budget = budget?;
    let max = budget.max.number();
    let limit = max as f64 * (1.0 + budget.tolerance.unwrap_or(usual));
    let outcome = match (figure.median, figure.range) {
        (None, _) => Outcome::Unknown,
        (Some(median), _) if median <= max as f64 => Outcome::Met,
        // missed only if the whole range lies beyond the limit
        (Some(median), range) if range.map_or(median, |[low, _]| low) <= limit => Outcome::Tolerated,
        _ => Outcome::Missed,
    };
    let Figure { what, unit, median, range } = figure;
    Some(Judged { what, unit, budget: max, measured: median, range, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(budget: AtMost<u64>, usual: f64, median: f64, range: Option<[f64; 2]>) -> Outcome {
        let figure = Figure { what: "x", unit: Unit::Count, median: Some(median), range };
        kept(Some(budget), usual, figure).unwrap().outcome
    }

    #[test]
    fn a_count_that_does_not_vary_is_exact() {
        let budget = AtMost { max: 30, tolerance: None };
        assert_eq!(outcome(budget, 0.0, 30.0, None), Outcome::Met);
        assert_eq!(outcome(budget, 0.0, 31.0, None), Outcome::Missed);
    }

    #[test]
    fn what_varies_is_missed_only_as_a_whole() {
        let budget = AtMost { max: 30, tolerance: None };
        assert_eq!(outcome(budget, 0.0, 31.0, Some([30.0, 32.0])), Outcome::Tolerated);
        assert_eq!(outcome(budget, 0.0, 32.0, Some([31.0, 33.0])), Outcome::Missed);
    }

    #[test]
    fn a_tolerance_widens_the_budget_and_its_own_goes_before_the_usual_one() {
        let usual = AtMost { max: 100, tolerance: None };
        assert_eq!(outcome(usual, 0.02, 102.0, None), Outcome::Tolerated);
        assert_eq!(outcome(usual, 0.02, 103.0, None), Outcome::Missed);
        let own = AtMost { max: 100, tolerance: Some(0.0) };
        assert_eq!(outcome(own, 0.02, 101.0, None), Outcome::Missed);
    }

    #[test]
    fn what_nobody_measured_is_unknown_and_what_has_no_budget_is_left_out() {
        let figure = || Figure { what: "x", unit: Unit::Count, median: None, range: None };
        let budget = AtMost { max: 1_u64, tolerance: None };
        assert_eq!(kept(Some(budget), 0.0, figure()).unwrap().outcome, Outcome::Unknown);
        assert_eq!(kept::<u64>(None, 0.0, figure()), None);
    }
}
