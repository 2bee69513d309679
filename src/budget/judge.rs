//! Compares measurements with budgets.

use super::budget_file::ProgramBudget;
use super::value::{AtMost, Limit};
use crate::document::bench::{Distribution, Measurement};
use crate::document::check::{BudgetOutcome, BudgetUnit, JudgedBudget, MARKS};

/// One figure of a measurement.
#[derive(Clone, Copy)]
struct BudgetFigure<'a> {
    what: &'a str,
    unit: BudgetUnit,
    median: Option<f64>,
    range: Option<[f64; 2]>,
}

/// The tolerance of page faults where the budget gives none: the kernel places a program at a random address, and the
/// number of pages that it touches depends on the address.
const FAULTS: f64 = 0.02;

/// The same for instructions: an interrupt adds one, and the length of a search in memory depends on addresses.
const INSTRUCTIONS: f64 = 0.01;

/// The same for the peak of memory: the kernel adds it up for each processor, in batches.
const MEMORY: f64 = 0.05;

/// Every budget of a program, in the order in which docs/ci.md lists them.
pub fn judge(program: &ProgramBudget, measurement: &Measurement) -> Vec<JudgedBudget> {
    let (counts, phases) = (&measurement.counts, &measurement.phases);
    let count = |what: &'static str, name: &'static str, unit, median: Option<u64>| {
        let range = measurement.varying.get(name).map(|range| range.map(|n| n as f64));
        BudgetFigure { what, unit, median: median.map(|n| n as f64), range }
    };
    let plain = |name, median| count(name, name, BudgetUnit::Count, median);

    let all = [
        judged(program.first_byte, 0.0, time("first_byte", phases.first_byte.as_ref())),
        judged(program.total, 0.0, time("total", phases.total.as_ref())),
        judged(program.processes, 0.0, plain("processes", counts.processes)),
        judged(program.threads, 0.0, plain("threads", counts.threads)),
        judged(program.execs, 0.0, plain("execs", counts.execs)),
        judged(program.syscalls, 0.0, plain("syscalls", counts.syscalls)),
        judged(program.page_faults, FAULTS, plain("page_faults", counts.page_faults)),
        judged(program.major_faults, 0.0, plain("major_faults", counts.major_faults)),
        judged(program.files_opened, 0.0, plain("files_opened", counts.files_opened)),
        judged(program.failed_opens, 0.0, plain("failed_opens", counts.failed_opens)),
        judged(
            program.bytes_read,
            0.0,
            count("bytes_read", "bytes_read", BudgetUnit::Bytes, counts.bytes_read),
        ),
        judged(program.writes, 0.0, plain("writes", counts.writes)),
        judged(program.instructions, INSTRUCTIONS, plain("instructions", counts.instructions)),
        judged(program.rss, MEMORY, count("rss", "max_rss", BudgetUnit::Bytes, measurement.rss())),
    ];
    let marks = program.marks.iter().filter_map(|(name, budget)| {
        let span = measurement.marks.iter().find(|span| span.name == *name);
        judged(Some(*budget), 0.0, time(&format!("{MARKS}{name}"), span.map(|span| &span.times)))
    });
    all.into_iter().flatten().chain(marks).collect()
}

fn time<'a>(what: &'a str, times: Option<&Distribution>) -> BudgetFigure<'a> {
    let (median, range) = (times.map(|t| t.median), times.map(|t| [t.low, t.high]));
    BudgetFigure { what, unit: BudgetUnit::Nanoseconds, median, range }
}

fn judged<T: Limit>(
    budget: Option<AtMost<T>>,
    default_tolerance: f64,
    figure: BudgetFigure,
) -> Option<JudgedBudget> {
    let budget = budget?;
    let max = budget.max.number();
    let limit = max as f64 * (1.0 + budget.tolerance.unwrap_or(default_tolerance));
    let outcome = match (figure.median, figure.range) {
        (None, _) => BudgetOutcome::Unknown,
        (Some(median), _) if median <= max as f64 => BudgetOutcome::Met,
        // missed only if the whole range is beyond the limit
        (Some(median), range) if range.map_or(median, |[low, _]| low) <= limit => BudgetOutcome::Tolerated,
        _ => BudgetOutcome::Missed,
    };
    let BudgetFigure { what, unit, median, range } = figure;
    Some(JudgedBudget { what: what.to_owned(), unit, budget: max, measured: median, range, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(budget: AtMost<u64>, usual: f64, median: f64, range: Option<[f64; 2]>) -> BudgetOutcome {
        let figure = BudgetFigure { what: "x", unit: BudgetUnit::Count, median: Some(median), range };
        judged(Some(budget), usual, figure).unwrap().outcome
    }

    #[test]
    fn a_count_that_does_not_vary_is_exact() {
        let budget = AtMost { max: 30, tolerance: None };
        assert_eq!(outcome(budget, 0.0, 30.0, None), BudgetOutcome::Met);
        assert_eq!(outcome(budget, 0.0, 31.0, None), BudgetOutcome::Missed);
    }

    #[test]
    fn a_count_that_varies_misses_only_with_its_whole_range() {
        let budget = AtMost { max: 30, tolerance: None };
        assert_eq!(outcome(budget, 0.0, 31.0, Some([30.0, 32.0])), BudgetOutcome::Tolerated);
        assert_eq!(outcome(budget, 0.0, 32.0, Some([31.0, 33.0])), BudgetOutcome::Missed);
    }

    #[test]
    fn a_tolerance_in_the_file_replaces_the_default_one() {
        let usual = AtMost { max: 100, tolerance: None };
        assert_eq!(outcome(usual, 0.02, 102.0, None), BudgetOutcome::Tolerated);
        assert_eq!(outcome(usual, 0.02, 103.0, None), BudgetOutcome::Missed);
        let limit = AtMost { max: 100, tolerance: Some(0.0) };
        assert_eq!(outcome(limit, 0.02, 101.0, None), BudgetOutcome::Missed);
    }

    #[test]
    fn a_figure_that_was_not_measured_is_unknown_and_one_without_a_budget_is_left_out() {
        let figure = || BudgetFigure { what: "x", unit: BudgetUnit::Count, median: None, range: None };
        let budget = AtMost { max: 1_u64, tolerance: None };
        assert_eq!(judged(Some(budget), 0.0, figure()).unwrap().outcome, BudgetOutcome::Unknown);
        assert_eq!(judged::<u64>(None, 0.0, figure()), None);
    }
}
