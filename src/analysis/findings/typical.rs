//! What a finding costs in most runs: one run alone is off by as much as the runs vary.

use super::{Evidence, Extent, Finding, Rule, Taken};
use crate::analysis::Summary;
use crate::analysis::loads::Load;
use crate::stats::order::median_interval;
use firstbyte_measure::units::Nanos;

/// Fewer runs have no interval.
const MIN_RUNS: usize = 4;

/// The confidence of the interval, as of those of samples.
const CONFIDENCE: f64 = 0.95;

/// What the rule finds in the run in which that costs the median, and the interval of that median. As all of it is of one run,
/// its parts sum to its cost. It stays as it is if the samples of all runs give its cost, or if more than a quarter of the runs
/// lack it. `None`: the rule finds nothing in most runs, so that the median is nothing.
pub(super) fn typical(
    shown: Finding,
    rule: Rule,
    evidence: &Evidence,
    summary: &Summary,
    taken: &Taken,
) -> Option<Finding> {
    if shown.interval.is_some() || summary.runs < MIN_RUNS {
        return Some(shown);
    }
    let of_run = |((account, loads), taken): (&(_, Vec<_>), &Extent)| {
        let similar = rule(&Evidence { account, loads, ..*evidence })?.undisturbed(taken);
        // the steps of another run are no part of the path that is shown
        Some(Finding { extent: Extent::default(), ..similar })
    };
    let mut all: Vec<Finding> = summary.others.iter().zip(&taken.others).filter_map(of_run).collect();
    if 2 * (all.len() + 1) <= summary.runs {
        return (!is_seen_in_each_run(rule, evidence)).then_some(shown);
    }
    all.retain(|finding| finding.subject == shown.subject);
    if all.len() + 1 < MIN_RUNS || 4 * (all.len() + 1) <= 3 * summary.others.len() {
        return Some(shown);
    }

    let extent = shown.extent.clone();
    all.push(shown);
    // of the same cost, the run that is shown
    all.sort_by_key(|finding| (finding.cost, finding.extent != extent));
    let costs: Vec<f64> = all.iter().map(|finding| finding.cost.as_f64()).collect();
    let interval = median_interval(&costs, CONFIDENCE).map(|it| [it.low, it.high].map(Nanos::rounded));
    let typical = all.swap_remove((all.len() - 1) / 2);
    // a figure that is the same for all runs has none
    let interval = interval.filter(|[low, high]| low < high);
    Some(Finding { interval, extent: extent.part(typical.cost), ..typical })
}

/// Whether the rule needs nothing but what is known of each run. What runtimes report is of one run.
fn is_seen_in_each_run(rule: Rule, evidence: &Evidence) -> bool {
    let loads: Vec<Load> = evidence.loads.iter().filter(|load| load.is_file()).cloned().collect();
    rule(&Evidence { loads: &loads, ..*evidence }).is_some()
}
