//! The findings of two start-ups, each set against that of the other side: what `trace` would say of each.

use super::attribution::WorkKind;
use super::counterparts::Counterparts;
use super::difference::{Amount, Change, Side, are_alike, kinds};
use super::findings::{Finding, REST, WHEN, floor};
use super::summary::Summary;
use firstbyte_measure::units::Nanos;

/// A finding of either side, and what the same rule finds on the other.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingChange {
    /// The name of the rule.
    pub rule: &'static str,
    /// Of the side that spends more on it.
    pub text: String,
    /// The costs on the first and on the second side, in nanoseconds; `None`: the side does not have it, or it costs too little.
    pub costs: [Option<f64>; 2],
    /// What the rule finds on one side is not what it finds on the other.
    pub unknown: bool,
    /// The 95 % interval of the difference; `None`: it is not known.
    pub interval: Option<[f64; 2]>,
}

impl FindingChange {
    /// The cost on the second side less that on the first, in nanoseconds.
    pub fn difference(&self) -> f64 {
        let [before, after] = self.costs.map(Option::unwrap_or_default);
        after - before
    }

    /// Whether the runs of each side vary by more than the two sides differ.
    fn is_uncertain(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high)
    }
}

/// What a rule says of one side.
#[derive(Clone, Copy)]
enum Said<'f> {
    Found(&'f Finding),
    /// Nothing: its cause takes less than this, in nanoseconds.
    LessThan(f64),
}

impl Said<'_> {
    fn cost(self) -> Option<f64> {
        match self {
            Said::Found(finding) => Some(finding.cost.as_f64()),
            Said::LessThan(_) => None,
        }
    }

    /// The cost, and its interval. `is_alone`: the other side has none.
    fn estimate(self, is_alone: bool) -> Option<(f64, [f64; 2])> {
        match self {
            Said::Found(finding) => {
                let interval = finding.interval.or(is_alone.then_some([finding.cost; 2]))?;
                Some((finding.cost.as_f64(), interval.map(Nanos::as_f64)))
            }
            Said::LessThan(most) => Some((0.0, [0.0, most])),
        }
    }
}

/// The findings that are given for either side and cost something else on the other, with the greatest difference first: one
/// for each rule.
pub fn between(sides: [&Side; 2]) -> Vec<FindingChange> {
    // what a rule finds in one of two start-ups that do the same, or finds more expensive there, is chance
    let kinds = kinds(sides[0].summary, sides[1].summary);
    if are_alike(&kinds) {
        return Vec::new();
    }
    let names = Counterparts::of(sides[0].summary, sides[1].summary);
    let given = |side: usize, rule: &str| sides[side].findings.iter().find(|finding| finding.rule == rule);
    let subject = |side: usize, said: Said| match said {
        Said::Found(finding) => Some(names[side].of_path(&finding.subject)),
        Said::LessThan(_) => None,
    };
    let of_second = sides[1].findings.iter().filter(|finding| given(0, finding.rule).is_none());
    let change = |finding: &Finding| {
        let rule = finding.rule;
        if !sides.iter().all(|side| applies(rule, side.summary)) {
            return None;
        }
        let said = [0, 1].map(|side| said(rule, given(side, rule), sides[side]));
        let subjects = [0, 1].map(|side| subject(side, said[side]));
        let is_same = subjects[0].is_none() || subjects[1].is_none() || subjects[0] == subjects[1];
        let change = changed(rule, said, is_same);
        let change = if rule == REST { limited_by_runs(change, &kinds)? } else { change };
        Some(change).filter(|change| !change.is_uncertain())
    };
    let mut all: Vec<FindingChange> = sides[0].findings.iter().chain(of_second).filter_map(change).collect();
    all.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
    all
}

/// Samples tell which functions user code is, and not how long it runs: what the runs tell of that limits its finding. `None`:
/// they do not tell a difference.
fn limited_by_runs(change: FindingChange, kinds: &[(WorkKind, Amount, Amount)]) -> Option<FindingChange> {
    let (_, a, b) = kinds.iter().find(|(kind, ..)| *kind == WorkKind::User)?;
    if Change::of_both("", *a, *b).is_uncertain() {
        return None;
    }
    let (difference, error) = (change.difference(), a.error + b.error);
    let interval = [difference - error, difference + error];
    let of_both = change.costs.iter().all(Option::is_some) && error > 0.0;
    Some(if of_both { FindingChange { interval: Some(interval), ..change } } else { change })
}

/// Whether a start-up has what the rule is about. One that prints nothing does nothing after its first byte. Its hottest
/// function is compared with the same one of the other side, as all functions are.
fn applies(rule: &str, summary: &Summary) -> bool {
    match rule {
        WHEN => summary.first_byte.is_some(),
        REST => summary.user_code.is_some(),
        _ => rule != "hottest-function",
    }
}

/// What other findings leave of user code depends on them, so all of it is compared.
fn said<'f>(rule: &str, given: Option<&'f Finding>, side: &'f Side) -> Said<'f> {
    let every = || side.every_finding.iter().find(|finding| finding.rule == rule);
    let found = given.filter(|_| rule != REST).or_else(every);
    let hidden = || side.summary.explained_total().as_f64() * floor(rule) as f64 / 100.0;
    found.map_or_else(|| Said::LessThan(hidden()), Said::Found)
}

/// `is_same`: the sides' findings are about the same.
fn changed(rule: &'static str, said: [Said; 2], is_same: bool) -> FindingChange {
    let found = said.into_iter().filter_map(|said| match said {
        Said::Found(finding) => Some(finding),
        Said::LessThan(_) => None,
    });
    let text = found.max_by_key(|finding| finding.cost).map_or(String::new(), |finding| finding.text.clone());
    let is_alone = said.iter().any(|said| matches!(said, Said::LessThan(_)));
    let [a, b] = said.map(|said| said.estimate(is_alone));
    let interval = a.zip(b).map(|(a, b)| interval_between(a, b));
    FindingChange { rule, text, costs: said.map(Said::cost), unknown: !is_same, interval }
}

/// The interval of the second less the first, from the interval of each: "Construction of confidence limits about effect
/// measures", Statistics in Medicine 27, 2008.
fn interval_between(
    (a, [a_low, a_high]): (f64, [f64; 2]),
    (b, [b_low, b_high]): (f64, [f64; 2]),
) -> [f64; 2] {
    [b - a - (b - b_low).hypot(a_high - a), b - a + (b_high - b).hypot(a - a_low)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Account;
    use crate::analysis::binaries::NoBinaries;
    use crate::analysis::summary::Spread;
    use firstbyte_measure::tracer::replay;
    use firstbyte_measure::units::Nanos;

    fn finding(rule: &'static str, cost: u64, interval: Option<[u64; 2]>) -> Finding {
        let mut finding = Finding::new(rule, Nanos(cost), format!("{rule} {cost}"));
        finding.interval = interval.map(|bounds| bounds.map(Nanos));
        finding
    }

    fn between(a: Said, b: Said) -> FindingChange {
        changed("linking", [a, b], true)
    }

    #[test]
    fn a_difference_has_an_interval_from_those_of_both_sides() {
        let [a, b] = [finding("linking", 100, Some([96, 104])), finding("linking", 200, Some([197, 203]))];
        let change = between(Said::Found(&a), Said::Found(&b));
        assert_eq!((change.difference(), change.interval), (100.0, Some([95.0, 105.0])));
        assert!(!change.is_uncertain());
        let back = between(Said::Found(&b), Said::Found(&a));
        assert_eq!((back.difference(), back.interval), (-100.0, Some([-105.0, -95.0])));
        let near = finding("linking", 104, Some([101, 107]));
        assert!(between(Said::Found(&a), Said::Found(&near)).is_uncertain());
        let one = finding("linking", 104, None);
        let change = between(Said::Found(&a), Said::Found(&one));
        assert_eq!((change.interval, change.is_uncertain()), (None, false), "one run has no interval");
    }

    /// `perl -e 1` has 72 page faults in new memory and no finding, `perl -e 'print 1'` 73: "+125 µs, only B".
    #[test]
    fn a_rule_that_is_silent_below_a_part_of_the_total_does_not_say_that_nothing_is_there() {
        let found = finding("new-memory", 125, Some([120, 130]));
        assert!(between(Said::LessThan(130.0), Said::Found(&found)).is_uncertain());
        let certain = between(Said::LessThan(12.0), Said::Found(&found));
        assert_eq!((certain.costs, certain.is_uncertain()), ([None, Some(125.0)], false));
        assert_eq!(certain.interval, Some([112.0, 130.0]));
        let one = finding("new-memory", 125, None);
        assert_eq!(between(Said::Found(&one), Said::LessThan(25.0)).interval, Some([-125.0, -100.0]));
    }

    /// A side that prints nothing was said to spend nothing after its first byte: "only B".
    #[test]
    fn each_rule_has_one_change_and_none_where_it_cannot_apply() {
        let bytes = include_bytes!("../../tests/recordings/small.jsonl");
        let recording = replay::read("small", bytes.as_slice()).unwrap().recording;
        let account = Account::of(&recording, &NoBinaries).unwrap();
        let mut silent = Summary::of(vec![account]).unwrap();
        silent.first_byte = None;
        let mut prints = silent.clone();
        prints.first_byte = Some(Spread::default());
        prints.kinds[0].1 += 1.0;
        let side = |summary, findings: &[Finding]| Side {
            name: "x",
            summary,
            notes: Vec::new(),
            executions: None,
            findings: findings.to_vec(),
            every_finding: findings.to_vec(),
        };
        let of = |findings: [&[Finding]; 2]| {
            let [a, b] = [side(&silent, findings[0]), side(&prints, findings[1])];
            super::between([&a, &b]).into_iter().map(|it| (it.rule, it.costs, it.unknown)).collect::<Vec<_>>()
        };
        let total = silent.explained_total().0;
        let after = finding(WHEN, total, None);
        assert_eq!(of([&[], &[after]]), []);
        let file = |name: &str, cost| finding("slow-file", cost, None).about(name);
        let both = of([&[file("/f", 5)], &[file("/g", 7)]]);
        assert_eq!(both, [("slow-file", [Some(5.0), Some(7.0)], true)]);
        // a rule is silent below a twentieth
        assert_eq!(of([&[], &[file("/f", total / 25)]]), []);
        assert_eq!(of([&[file("/f", total / 5)], &[]]).len(), 1);
        let hottest = finding("hottest-function", total, None);
        assert_eq!(of([&[hottest], &[]]), []);
        let computes = finding(REST, total, None);
        assert_eq!(of([&[], &[computes]]), [], "one side was not sampled");
    }

    #[test]
    fn user_code_differs_by_what_the_runs_tell() {
        let amount = |time, error| Amount { time, count: 1.0, error };
        let limited = |b: f64, error| {
            let [less, more] = [finding(REST, 821, None), finding(REST, 852, None)];
            let change = changed(REST, [Said::Found(&less), Said::Found(&more)], true);
            let kinds = [(WorkKind::User, amount(1_000.0, error), amount(b, error))];
            limited_by_runs(change, &kinds).map(|change| (change.interval, change.is_uncertain()))
        };
        assert_eq!(limited(1_010.0, 20.0), None, "no difference for certain");
        assert_eq!(limited(1_050.0, 20.0), Some((Some([-9.0, 71.0]), true)));
        assert_eq!(limited(1_050.0, 10.0), Some((Some([11.0, 51.0]), false)));
        assert_eq!(limited(1_050.0, 0.0), Some((None, false)), "one run each");
    }

    #[test]
    fn what_a_side_spends_more_on_is_said_in_its_words() {
        let (less, more) = (finding("waits", 5, None), finding("waits", 9, None));
        let change = between(Said::Found(&less), Said::Found(&more));
        assert_eq!(
            (change.text.as_str(), change.costs, change.unknown),
            ("waits 9", [Some(5.0), Some(9.0)], false)
        );
        assert_eq!(between(Said::Found(&more), Said::Found(&less)).text, "waits 9");
        assert!(
            changed("waits", [Said::Found(&less), Said::Found(&more)], false).unknown,
            "of something else"
        );
    }
}
