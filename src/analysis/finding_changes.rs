//! The findings of two start-ups, each set against that of the other side: what `trace` would say of each.

use super::counterparts::Counterparts;
use super::difference::{Side, are_alike, kinds};
use super::findings::{Finding, REST};

/// A finding of either side, and what the same costs on the other.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingChange {
    /// The name of the rule.
    pub rule: &'static str,
    /// Of the side that spends more on it.
    pub text: String,
    /// The costs on the first and on the second side, in nanoseconds; `None`: the side does not have it, or it is not known.
    pub costs: [Option<f64>; 2],
    /// The cost that is `None` is not known: the other side has a finding of this rule about something else.
    pub unknown: bool,
}

impl FindingChange {
    /// The cost on the second side less that on the first, in nanoseconds.
    pub fn difference(&self) -> f64 {
        let [before, after] = self.costs.map(Option::unwrap_or_default);
        after - before
    }
}

/// The other side's finding of the same rule.
enum Other<'f> {
    Same(&'f Finding),
    /// It is about something else, or it is what other findings leave.
    Unlike,
    None,
}

/// The findings that are given for either side and cost something else on the other, with the greatest difference first.
pub fn between(sides: [&Side; 2]) -> Vec<FindingChange> {
    let names = Counterparts::of(sides[0].summary, sides[1].summary);
    let key = |side: usize, finding: &Finding| (finding.rule, names[side].of_path(&finding.subject));
    let other = |side: usize, finding: &Finding| {
        let (there, wanted) = (1 - side, key(side, finding));
        let is_same = |other: &&Finding| key(there, other) == wanted;
        let every = &sides[there].every_finding;
        match sides[there].findings.iter().find(is_same) {
            Some(given) => Other::Same(given),
            None if finding.rule == REST => Other::Unlike,
            None => match every.iter().find(is_same) {
                Some(same) => Other::Same(same),
                None if every.iter().any(|other| other.rule == finding.rule) => Other::Unlike,
                None => Other::None,
            },
        }
    };

    let mut all: Vec<FindingChange> = Vec::new();
    // what a rule finds in one of two start-ups that do the same, or finds more expensive there, is chance
    if are_alike(&kinds(sides[0].summary, sides[1].summary)) {
        return all;
    }
    let is_certain =
        |finding: &&Finding, other: &Other| !matches!(other, Other::Same(other) if overlap(finding, other));
    for side in [0, 1] {
        let is_new = |finding: &&Finding| {
            side == 0 || !sides[0].findings.iter().any(|first| key(0, first) == key(1, finding))
        };
        let own = sides[side].findings.iter().filter(is_new);
        let with_others = own.map(|finding| (finding, other(side, finding)));
        let certain = with_others.filter(|(finding, other)| is_certain(finding, other));
        all.extend(certain.map(|(finding, other)| changed(side, finding, &other)));
    }
    all.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
    all
}

/// Whether the costs are the same as far as the runs tell: their intervals have costs in common.
fn overlap(a: &Finding, b: &Finding) -> bool {
    match (a.interval, b.interval) {
        (Some(a), Some(b)) => a[0] <= b[1] && b[0] <= a[1],
        _ => false,
    }
}

fn changed(side: usize, finding: &Finding, other: &Other) -> FindingChange {
    let mut costs = [None, None];
    costs[side] = Some(finding.cost.as_f64());
    let mut costlier = finding;
    if let Other::Same(other) = other {
        costs[1 - side] = Some(other.cost.as_f64());
        costlier = if other.cost > finding.cost { other } else { finding };
    }
    let unknown = matches!(other, Other::Unlike);
    FindingChange { rule: finding.rule, text: costlier.text.clone(), costs, unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::units::Nanos;

    fn finding(rule: &'static str, subject: &str, cost: u64) -> Finding {
        let text = format!("{rule} {subject} {cost}");
        Finding::new(rule, Nanos(cost), text).about(subject)
    }

    #[test]
    fn costs_whose_intervals_overlap_do_not_differ() {
        let between = |low, high| {
            let mut finding = finding("linking", "", u64::midpoint(low, high));
            finding.interval = Some([Nanos(low), Nanos(high)]);
            finding
        };
        assert!(overlap(&between(10, 20), &between(20, 40)) && overlap(&between(20, 40), &between(10, 20)));
        assert!(!overlap(&between(10, 20), &between(21, 40)) && !overlap(&between(21, 40), &between(10, 20)));
        assert!(!overlap(&between(10, 20), &finding("linking", "", 15)), "one run has no interval");
    }

    #[test]
    fn what_a_side_spends_more_on_is_said_in_its_words() {
        let (less, more) = (finding("waits", "", 5), finding("waits", "", 9));
        let change = changed(0, &less, &Other::Same(&more));
        assert_eq!(
            (change.text.as_str(), change.costs, change.unknown),
            ("waits  9", [Some(5.0), Some(9.0)], false)
        );
        assert_eq!(changed(1, &less, &Other::Same(&more)).costs, [Some(9.0), Some(5.0)]);
        let alone = changed(1, &more, &Other::None);
        assert_eq!((alone.costs, alone.unknown, alone.difference()), ([None, Some(9.0)], false, 9.0));
        assert!(changed(0, &more, &Other::Unlike).unknown, "no cost of another subject is compared");
    }
}
