//! What one start-up has and the other does not, and what changed between them.

use super::align::{Pair, align};
use super::attribution::WorkKind;
use super::counterparts::Counterparts;
use super::findings::Finding;
use super::summary::{CommonStep, Spread, Summary};
use super::user_code::UserCode;
use super::{FileAccount, Step, What};
use crate::document::named_span::NamedSpan;
use crate::stats::{self, Comparison};
use std::collections::BTreeMap;

/// One start-up of the two that are compared.
#[derive(Clone, Debug)]
pub struct Side<'s> {
    /// The command or the recording.
    pub name: &'s str,
    pub summary: &'s Summary,
    /// Caveats about the figures, a sentence each.
    pub notes: Vec<String>,
    /// How often it was executed, if that is known.
    pub executions: Option<String>,
    /// What `trace` says of it, the most expensive first.
    pub findings: Vec<Finding>,
    /// What every rule finds, so that a finding that is not given is not taken for one that is not there.
    pub every_finding: Vec<Finding>,
}

impl Side<'_> {
    /// All that is said of it, a sentence each.
    pub fn all_notes(&self) -> impl Iterator<Item = &String> {
        self.notes.iter().chain(&self.executions)
    }
}

/// Two start-ups.
#[derive(Clone, Debug)]
pub struct Compared<'s> {
    /// A and B.
    pub sides: [Side<'s>; 2],
    /// The totals of B over those of A; `None` where a total is 0.
    pub comparison: Option<Comparison>,
    /// Their runs were interleaved.
    pub in_turn: bool,
}

/// The round and the total of each run of one side, in nanoseconds.
pub type Totals = [(u32, f64)];

/// The totals of B over those of A: round by round if the runs were interleaved.
pub fn compare_totals(a: &Totals, b: &Totals, in_turn: bool, seed: u64) -> Option<Comparison> {
    if in_turn {
        let of_a: BTreeMap<u32, f64> = a.iter().copied().collect();
        let both = b.iter().filter_map(|(round, total)| Some((*of_a.get(round)?, *total)));
        let (old, new): (Vec<f64>, Vec<f64>) = both.unzip();
        return stats::judge(&old, &new);
    }
    let values = |side: &Totals| side.iter().map(|(_, total)| *total).collect::<Vec<f64>>();
    stats::judge_unpaired(&values(a), &values(b), seed)
}

/// A time and a count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// In nanoseconds.
    pub time: f64,
    pub count: f64,
    /// How far the time may be off, as the runs vary; 0: it is not known.
    pub error: f64,
}

impl Amount {
    fn of_runs(time: Spread, count: f64, runs: usize) -> Amount {
        Amount { time: time.middle, count, error: time.error(runs) }
    }
}

/// Something that one side has, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub name: String,
    /// `None`: the first side does not have it.
    pub before: Option<Amount>,
    /// `None`: the second side does not have it.
    pub after: Option<Amount>,
    /// How much time of a side that does not have it is not divided, so that side may have it nevertheless; in nanoseconds.
    pub undivided: f64,
}

impl Change {
    /// Of something that both sides have.
    pub fn of_both(name: &str, before: Amount, after: Amount) -> Change {
        Change { name: name.to_owned(), before: Some(before), after: Some(after), undivided: 0.0 }
    }

    /// The time of the second side less that of the first.
    pub fn difference(&self) -> f64 {
        self.after.unwrap_or_default().time - self.before.unwrap_or_default().time
    }

    /// Whether the runs of each side vary by more than the times of the two sides differ. A side that does not have it varies
    /// as the other does: it may only not have been sampled there. It may also be part of what is not divided.
    pub fn is_uncertain(&self) -> bool {
        let error = |side: Option<Amount>| match (side, self.before.or(self.after)) {
            (Some(own), _) => own.error,
            (None, other) => other.map_or(0.0, |it| it.error).max(self.undivided),
        };
        self.difference().abs() < error(self.before) + error(self.after)
    }

    /// Whether more than the time differs: the counts. A side that does not have it counts 0, and so does one that only has page
    /// faults of it, which differ from run to run.
    pub fn is_structural(&self) -> bool {
        let [before, after] = [self.before, self.after].map(|side| side.unwrap_or_default().count);
        (before - after).abs() >= 1.0
    }
}

/// The differences between two start-ups. Every list has the greatest difference first.
#[derive(Clone, Debug)]
pub struct Difference {
    /// In the order of [`WorkKind::ALL`]. Their times add up to each side's [`Spread::middle`](super::summary::Spread) total.
    pub kinds: Vec<(WorkKind, Amount, Amount)>,
    /// The shares of each kind.
    pub shares: Vec<(WorkKind, Change)>,
    /// Steps of the main thread that only one side has, similar ones together.
    pub steps: Vec<Change>,
    pub files: Vec<Change>,
    /// The loads that language runtimes report, with their own times.
    pub loads: Vec<Change>,
    /// The programs that all processes executed, with their lifetimes.
    pub programs: Vec<Change>,
    /// The parts of the runs that have a name.
    pub marks: Vec<Change>,
}

impl Difference {
    pub fn between(first: &Summary, second: &Summary) -> Difference {
        let [ours, theirs] = &Counterparts::of(first, second);
        Difference {
            kinds: kinds(first, second),
            shares: shares((first, ours), (second, theirs)),
            steps: steps((first, ours), (second, theirs)),
            files: changes(files(first, ours), files(second, theirs)),
            loads: changes(loads(first), loads(second)),
            programs: changes(programs(first, ours), programs(second, theirs)),
            marks: changes(marks(first), marks(second)),
        }
    }
}

/// The time and the number of steps of each kind, in the order of [`WorkKind::ALL`].
pub fn kinds(first: &Summary, second: &Summary) -> Vec<(WorkKind, Amount, Amount)> {
    let amounts = |summary: &Summary| summary.kinds.map(|(t, count)| Amount::of_runs(t, count, summary.runs));
    let both = amounts(first).into_iter().zip(amounts(second));
    WorkKind::ALL.into_iter().zip(both).map(|(kind, (before, after))| (kind, before, after)).collect()
}

/// Whether two start-ups do the same as far as their runs tell: as many execs and calls, and a time of each kind that differs
/// by less than the runs of each vary. The numbers of page faults and waits, and of the user code between them, are random.
pub fn are_alike(kinds: &[(WorkKind, Amount, Amount)]) -> bool {
    kinds.iter().all(|(kind, before, after)| {
        let change = Change::of_both("", *before, *after);
        let is_random = matches!(kind, WorkKind::Fault | WorkKind::User | WorkKind::Waiting);
        before == after || (is_random || !change.is_structural()) && change.is_uncertain()
    })
}

/// A side's figures, and the names of the files that have a counterpart on the other side.
type NamedSide<'s> = (&'s Summary, &'s Counterparts);

fn shares(first: NamedSide, second: NamedSide) -> Vec<(WorkKind, Change)> {
    let of = |(summary, names): NamedSide, kind: WorkKind| -> BTreeMap<String, Amount> {
        if let (WorkKind::User, Some(code)) = (kind, &summary.user_code) {
            return functions(code, names, user_time(summary));
        }
        let shares = summary.shares.iter().filter(|share| share.kind == kind);
        shares.map(|s| (names.of_name(&s.name), Amount::of_runs(s.time, s.count, summary.runs))).collect()
    };
    let of_kind = |kind| {
        changes_of_shares(of(first, kind), of(second, kind)).into_iter().map(move |change| (kind, change))
    };
    WorkKind::ALL.into_iter().flat_map(of_kind).collect()
}

/// The user code of all runs.
fn user_time(summary: &Summary) -> f64 {
    let of_user = summary.shares.iter().filter(|share| share.kind == WorkKind::User);
    of_user.map(|share| share.time.middle).sum()
}

/// What no sample divides: code of programs that run too short.
const UNSAMPLED: &str = "code with too few samples";

/// Own times of functions, which divide the user code of all runs as they do that of the run that is shown. Their numbers of
/// samples depend on how often a side was sampled, and are not compared.
fn functions(code: &UserCode, names: &Counterparts, all_runs: f64) -> BTreeMap<String, Amount> {
    let longer = all_runs / code.divided.total.max(1.0);
    let mut all = BTreeMap::new();
    for function in &code.divided.functions {
        let file = names.of_name(function.frame.file());
        let name = match &function.frame.function {
            Some(name) => format!("{name} ({file})"),
            None => format!("{file}, without a symbol"),
        };
        let amount: &mut Amount = all.entry(name).or_default();
        amount.time += function.self_time.time * longer;
        amount.error += function.self_time.error() * longer;
        amount.count = 1.0;
    }
    let rest = all_runs - all.values().map(|amount| amount.time).sum::<f64>();
    if rest >= 1.0 {
        all.insert(UNSAMPLED.to_owned(), Amount { time: rest, error: rest, ..Amount::default() });
    }
    all
}

/// A function that one side does not have may be in the code of that side which no sample divides.
fn changes_of_shares(before: BTreeMap<String, Amount>, after: BTreeMap<String, Amount>) -> Vec<Change> {
    let [of_first, of_second] = [&before, &after].map(|side| side.get(UNSAMPLED).map_or(0.0, |it| it.time));
    let with_rest = |change: Change| {
        let undivided = if change.before.is_none() { of_first } else { of_second };
        Change { undivided, ..change }
    };
    changes(before, after).into_iter().map(with_rest).collect()
}

/// User code, waits and page faults are left to the shares. As steps they are too different from run to run.
fn is_compared(step: &CommonStep) -> bool {
    !matches!(*step.step.what, What::User | What::Off(_) | What::Fault(_))
}

fn steps(first: NamedSide, second: NamedSide) -> Vec<Change> {
    let compared = |(summary, names): NamedSide| -> Vec<CommonStep> {
        let compared = summary.steps().into_iter().filter(is_compared);
        let named = |step: Step| Step { what: names.of_step(&step.what).into(), ..step };
        compared.map(|common| CommonStep { step: named(common.step), ..common }).collect()
    };
    let (a, b) = (compared(first), compared(second));
    let keys = |steps: &[CommonStep]| -> Vec<String> { steps.iter().map(|s| s.step.what.key()).collect() };

    let (mut gone, mut new) = (BTreeMap::new(), BTreeMap::new());
    for pair in align(&keys(&a), &keys(&b)) {
        let (step, side) = match pair {
            Pair::Both(..) => continue,
            Pair::First(n) => (&a[n], &mut gone),
            Pair::Second(n) => (&b[n], &mut new),
        };
        add(side, group(&step.step.what), step.self_time.median);
    }

    let mut all = changes(gone, new);
    // the same number on both sides: the steps have only moved
    all.retain(|change| change.before.map(|a| a.count) != change.after.map(|b| b.count));
    all
}

/// The line of a step. The calls of one kind on one file share a line.
fn group(what: &What) -> String {
    match what {
        What::Call { name, file: Some(path), failed, .. } => {
            format!("{name} {path}{}", if *failed { ", failed" } else { "" })
        }
        What::Call { name, failed, .. } => format!("{name}{}", if *failed { ", failed" } else { "" }),
        other => other.title(),
    }
}

fn add(amounts: &mut BTreeMap<String, Amount>, name: String, time: f64) {
    let amount = amounts.entry(name).or_default();
    amount.time += time;
    amount.count += 1.0;
}

fn files(summary: &Summary, names: &Counterparts) -> BTreeMap<String, Amount> {
    let amount = |file: &FileAccount| Amount {
        time: file.time.as_f64(),
        // page faults differ from run to run
        count: (file.opened + file.failed + file.calls) as f64,
        error: 0.0,
    };
    summary.median_run.files.iter().map(|file| (names.of_path(&file.path), amount(file))).collect()
}

fn loads(summary: &Summary) -> BTreeMap<String, Amount> {
    let mut all = BTreeMap::new();
    for load in summary.loads.iter().filter(|load| !load.is_file()) {
        add(&mut all, format!("{}: {}", load.runtime, load.unit), load.self_time.as_f64());
    }
    all
}

/// The programs, each from its exec until the next exec of its process, or until that ends.
fn programs(summary: &Summary, names: &Counterparts) -> BTreeMap<String, Amount> {
    let mut all = BTreeMap::new();
    for process in &summary.median_run.processes {
        let end = process.end.unwrap_or(summary.median_run.total);
        let ends = process.execs.iter().skip(1).map(|exec| exec.start).chain([end]);
        for (exec, end) in process.execs.iter().zip(ends) {
            let lifetime = end.since(exec.start).unwrap_or_default();
            add(&mut all, names.of_path(&exec.path), lifetime.as_f64());
        }
    }
    all
}

fn marks(summary: &Summary) -> BTreeMap<String, Amount> {
    let amount = |span: &NamedSpan| {
        let times: Vec<f64> = span.times.samples.iter().map(|ns| *ns as f64).collect();
        Amount::of_runs(Spread::of(&times), span.count as f64, times.len())
    };
    summary.marks.iter().map(|span| (span.name.clone(), amount(span))).collect()
}

fn changes(before: BTreeMap<String, Amount>, mut after: BTreeMap<String, Amount>) -> Vec<Change> {
    let mut all: Vec<Change> = before
        .into_iter()
        .map(|(name, amount)| Change {
            before: Some(amount),
            after: after.remove(&name),
            name,
            undivided: 0.0,
        })
        .collect();
    all.extend(after.into_iter().map(|(name, amount)| Change {
        name,
        before: None,
        after: Some(amount),
        undivided: 0.0,
    }));
    all.sort_by(|a, b| {
        b.difference().abs().total_cmp(&a.difference().abs()).then_with(|| a.name.cmp(&b.name))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(all: &[(&str, f64, f64)]) -> BTreeMap<String, Amount> {
        all.iter()
            .map(|(name, time, count)| {
                ((*name).to_owned(), Amount { time: *time, count: *count, error: 0.0 })
            })
            .collect()
    }

    #[test]
    fn a_difference_within_what_the_runs_vary_is_uncertain() {
        let runs = |around: f64| (-15..=15).map(|n| around + f64::from(n)).collect::<Vec<f64>>();
        let amount = |around: f64| Amount::of_runs(Spread::of_runs(&runs(around)), 1.0, 31);
        let change = |a: f64, b: f64| Change::of_both("", amount(a), amount(b));
        // 1.57 times the 15 between the quartiles over the root of 31 is 4.2 on each side
        assert!(change(100.0, 108.0).is_uncertain() && !change(100.0, 109.0).is_uncertain());
        let gone = Change { after: None, ..change(100.0, 100.0) };
        assert!(!gone.is_uncertain());
        let sampled = Amount { time: 54.0, count: 1.0, error: 40.0 };
        assert!(Change { before: None, ..Change::of_both("", sampled, sampled) }.is_uncertain());
        let one = Amount::of_runs(Spread::of_runs(&[5.0]), 1.0, 1);
        assert!(!Change { before: None, ..Change::of_both("", one, one) }.is_uncertain());
    }

    #[test]
    fn start_ups_are_alike_if_no_kind_differs_in_number_or_for_certain_in_time() {
        let amount = |time, count| Amount { time, count, error: 4.0 };
        let of = |kind, before, after| are_alike(&[(kind, before, after)]);
        let alike = |before, after| of(WorkKind::Syscall, before, after);
        assert!(alike(amount(100.0, 30.0), amount(107.0, 30.0)));
        assert!(!alike(amount(100.0, 30.0), amount(109.0, 30.0)));
        assert!(!alike(amount(100.0, 30.0), amount(100.0, 31.0)));
        assert!(alike(Amount::default(), Amount::default()), "none on either side");
        assert!(of(WorkKind::Fault, amount(100.0, 30.0), amount(100.0, 33.0)), "addresses are random");
    }

    #[test]
    fn what_one_side_has_no_samples_of_is_no_difference() {
        let named = |name: &str, time, error| (name.to_owned(), Amount { time, count: 1.0, error });
        let sides = |rest: f64| {
            let before =
                BTreeMap::from([named("a", 120.0, 30.0), named("b", 80.0, 5.0), named("c", 54.0, 40.0)]);
            let all = changes_of_shares(before, BTreeMap::from([named(UNSAMPLED, rest, rest)]));
            all.into_iter().map(|it| (it.name.clone(), it.is_uncertain())).collect::<Vec<_>>()
        };
        let shown = |all: [(&str, bool); 4]| all.map(|(name, it)| (name.to_owned(), it)).to_vec();
        assert_eq!(sides(254.0), shown([(UNSAMPLED, true), ("a", true), ("b", true), ("c", true)]));
        // two nanoseconds hide nothing, and c was uncertain before
        assert_eq!(sides(2.0), shown([("a", false), ("b", false), ("c", true), (UNSAMPLED, true)]));
    }

    #[test]
    fn changes_are_listed_with_the_greatest_difference_first() {
        let before = amounts(&[("same", 10.0, 1.0), ("gone", 30.0, 2.0), ("slower", 5.0, 1.0)]);
        let faults_alone = ("touched", 1.0, 0.0);
        let after = amounts(&[("same", 10.0, 1.0), ("new", 7.0, 1.0), ("slower", 25.0, 3.0), faults_alone]);
        let all = changes(before, after);
        let shown: Vec<(&str, f64, bool)> =
            all.iter().map(|c| (c.name.as_str(), c.difference(), c.is_structural())).collect();
        assert_eq!(
            shown,
            [
                ("gone", -30.0, true),
                ("slower", 20.0, true),
                ("new", 7.0, true),
                ("touched", 1.0, false),
                ("same", 0.0, false)
            ]
        );
    }
}
