//! Which finding stands where: no time is counted twice, and what saves the most comes first.

use super::{Finding, REST};
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;

/// A finding that shares this part of its time with a larger one stands under it.
const SHARED: u64 = 10;

/// A saving of less than this part of the total is nothing to begin with.
const WORTHWHILE: u64 = 20;

/// A rule that says more about another one.
const DETAILS: [(&str, &str); 2] = [("hottest-function", REST), ("bind-now", "dynamic-linking")];

/// The findings in the order in which they are read, each followed by those within it. Those outside of others never sum to
/// more than the total.
pub(super) fn arranged(mut all: Vec<Finding>, total: Nanos, most: usize) -> Vec<Finding> {
    all.sort_by_key(|finding| Reverse(finding.cost));
    let mut around: Vec<Option<usize>> = vec![None; all.len()];
    for inner in 1..all.len() {
        around[inner] = host(&all, &around, inner)
            .filter(|(_, shared)| shared.0.saturating_mul(SHARED) >= all[inner].cost.0)
            .map(|(host, _)| host);
    }
    fit(&all, &mut around, total);

    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|index| {
        let outer = around[*index].unwrap_or(*index);
        let within = (0..all.len()).filter(|inner| around[*inner] == Some(outer)).chain([outer]);
        let best = within.map(|index| worth(&all[index], total)).max();
        (
            Reverse((best, all[outer].cost)),
            outer,
            *index != outer,
            Reverse(worth(&all[*index], total)),
            *index,
        )
    });
    // a finding stands behind the one around it, so that none is left without it
    order.truncate(most);
    let place = |index: usize| order.iter().position(|it| *it == index);
    let outer: Vec<Option<usize>> = order.iter().map(|index| around[*index].and_then(place)).collect();
    let mut all: Vec<Option<Finding>> = all.into_iter().map(Some).collect();
    let moved = order
        .iter()
        .zip(outer)
        .filter_map(|(index, within)| all[*index].take().map(|finding| Finding { within, ..finding }));
    moved.collect()
}

/// What following the advice saves, if that is worthwhile.
fn worth(finding: &Finding, total: Nanos) -> u64 {
    let saves = finding.saves.unwrap_or_default().0;
    if saves.saturating_mul(WORTHWHILE) >= total.0 { saves } else { 0 }
}

/// The larger finding with which this one shares most, of those that are not within others.
fn host(all: &[Finding], around: &[Option<usize>], inner: usize) -> Option<(usize, Nanos)> {
    let outer = || (0..inner).filter(|index| around[*index].is_none());
    let detailed = DETAILS.iter().find(|(rule, _)| *rule == all[inner].rule);
    let detailed = detailed.and_then(|(_, of)| outer().find(|index| all[*index].rule == *of));
    if let Some(index) = detailed {
        return Some((index, all[inner].cost));
    }
    let shared = |index: usize| (index, all[index].extent.shared(&all[inner].extent));
    outer().map(shared).max_by_key(|(index, shared)| (*shared, Reverse(*index)))
}

/// Samples and reports are from other runs, so that costs can add up to more than the total: the smallest findings then stand
/// under those with which they share most.
fn fit(all: &[Finding], around: &mut [Option<usize>], total: Nanos) {
    let mut sum: u64 =
        all.iter().zip(around.iter()).filter(|(_, it)| it.is_none()).map(|(it, _)| it.cost.0).sum();
    for inner in (1..all.len()).rev() {
        if sum <= total.0 {
            return;
        }
        let Some((outer, _)) = host(all, around, inner).filter(|_| around[inner].is_none()) else { continue };
        sum -= all[inner].cost.0;
        for index in around.iter_mut().filter(|it| **it == Some(inner)) {
            *index = Some(outer);
        }
        around[inner] = Some(outer);
    }
}
