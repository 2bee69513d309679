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
/// its parts sum to its cost. It is that of the run that is shown if the samples of all runs give its cost, or if more than a
/// quarter of the runs lack it. `None`: that run has none, or the rule finds nothing in most runs, so that the median is nothing.
/// `anywhere`: the run that is shown can lack it.
pub(super) fn typical(
    rule: Rule,
    evidence: &Evidence,
    summary: &Summary,
    taken: &Taken,
    anywhere: bool,
) -> Option<Finding> {
    let shown = rule(evidence).map(|finding| finding.undisturbed(&taken.shown));
    let is_enough = |shown: &Finding| shown.interval.is_some() || summary.runs < MIN_RUNS;
    if shown.as_ref().map_or(!anywhere, is_enough) {
        return shown;
    }
    let of_run = |((account, loads), taken): (&(_, Vec<_>), &Extent)| {
        let similar = rule(&Evidence { account, loads, ..*evidence })?.undisturbed(taken);
        // the steps of another run are no part of the path that is shown
        Some(Finding { extent: Extent::default(), ..similar })
    };
    let mut all: Vec<Finding> = summary.others.iter().zip(&taken.others).filter_map(of_run).collect();
    all.extend(shown.clone());
    if 2 * all.len() <= summary.runs {
        return shown.filter(|_| !is_seen_in_each_run(rule, evidence));
    }
    let extent = shown.as_ref().map_or_else(Extent::default, |shown| shown.extent.clone());
    // of the same cost, the run that is shown
    all.sort_by_key(|finding| (finding.cost, finding.extent != extent));
    let subject = shown.as_ref().unwrap_or(&all[(all.len() - 1) / 2]).subject.clone();
    all.retain(|finding| finding.subject == subject);
    if all.len() < MIN_RUNS || 4 * all.len() <= 3 * summary.others.len() {
        return shown;
    }

    let costs: Vec<f64> = all.iter().map(|finding| finding.cost.as_f64()).collect();
    let interval = median_interval(&costs, CONFIDENCE);
    let typical = all.swap_remove((all.len() - 1) / 2);
    let (cost, error) = (typical.cost.as_f64(), typical.error.as_f64());
    let away = |distance: f64| distance.hypot(error);
    let interval = interval.map(|it| [cost - away(cost - it.low), cost + away(it.high - cost)]);
    let interval = interval.map(|bounds| bounds.map(|bound| Nanos::rounded(bound.max(0.0))));
    // a figure that is the same for all runs has none
    let interval = interval.filter(|[low, high]| low < high);
    Some(Finding { interval, extent: extent.part(typical.cost), ..typical })
}

/// Whether the rule needs nothing but what is known of each run. What runtimes report is of one run.
fn is_seen_in_each_run(rule: Rule, evidence: &Evidence) -> bool {
    let loads: Vec<Load> = evidence.loads.iter().filter(|load| load.is_file()).cloned().collect();
    rule(&Evidence { loads: &loads, ..*evidence }).is_some()
}
