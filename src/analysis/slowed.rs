//! Runs that the tracer stopped at every system call, and what they would take without the stops.

use super::attribution::{WorkKind, kind, name};
use super::loads::Load;
use super::model::Account;
use super::summary::{CommonShare, Slowed, Summary};
use crate::analysis::runs::ObservedRuns;
use crate::stats::median_of;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;

/// Takes what the stops cost off the summary's shares, by the untraced runs beside the traced ones. The totals and the
/// accounts stay as they were recorded.
pub(super) fn take_off_stops(summary: &mut Summary, observed: &ObservedRuns) {
    let untraced = untraced_total(summary.total.middle, observed);
    summary.slowed = Some(Slowed { untraced });
    let Some(untraced) = untraced else { return };
    let recorded: Vec<f64> = summary.shares.iter().map(|share| share.time.middle).collect();

    // a call stops at its entry and at its exit: the program waits once within the call, and once in the code around it
    let slower = summary.total.middle - untraced;
    let calls: f64 = of_kind(summary, WorkKind::Syscall).map(|share| share.count).sum();
    let each = slower / (2.0 * calls.max(1.0));
    let mut left = slower - take_off(summary, WorkKind::Syscall, |share| share.count * each);

    for kind in [WorkKind::User, WorkKind::Syscall, WorkKind::Waiting, WorkKind::KernelExec] {
        let time: f64 = of_kind(summary, kind).map(|share| share.time.middle).sum();
        let part = (left / time.max(1.0)).min(1.0);
        left -= take_off(summary, kind, |share| share.time.middle * part);
    }

    let kept =
        summary.shares.iter().zip(recorded).map(|(share, recorded)| {
            ((share.kind, share.name.clone()), share.time.middle / recorded.max(1.0))
        });
    summary.unslowed = kept.collect();
}

/// The summary with accounts without the stops, for rules that look at single steps; `None` if there were no stops, or nobody
/// knows what they cost. The own time of each step keeps the part that its share keeps, all else that of the total.
pub(super) fn without_stops(summary: &Summary) -> Option<Summary> {
    if summary.unslowed.is_empty() {
        return None;
    }
    let part = summary.scale(summary.total.middle);
    let account = |account: &Account| account_without(account, part, &summary.unslowed);
    let loads = |loads: &[Load]| loads.iter().map(|load| load_without(load, part)).collect::<Vec<Load>>();
    let others = summary.others.iter().map(|(run, loaded)| (account(run), loads(loaded)));
    Some(Summary {
        median_run: account(&summary.median_run),
        others: others.collect(),
        loads: loads(&summary.loads),
        unslowed: BTreeMap::new(),
        ..summary.clone()
    })
}

/// Runtimes report what they measured in a run without stops.
fn load_without(load: &Load, part: f64) -> Load {
    let part = if load.is_file() { part } else { 1.0 };
    Load { self_time: kept(load.self_time, part), total: kept(load.total, part), ..load.clone() }
}

fn account_without(account: &Account, part: f64, unslowed: &BTreeMap<(WorkKind, String), f64>) -> Account {
    let mut account = account.clone();
    let threads = account.threads.iter_mut().map(|thread| &mut thread.steps);
    for step in threads.chain([&mut account.steps]).flatten() {
        let share = (kind(&step.what), name(&step.what));
        step.self_time = kept(step.self_time, unslowed.get(&share).copied().unwrap_or(part));
        step.elapsed = kept(step.elapsed, part).max(step.self_time);
    }

    for at in instants(&mut account) {
        *at = kept(*at, part);
    }
    account
}

/// All times that are not own times of steps.
fn instants(account: &mut Account) -> impl Iterator<Item = &mut Nanos> {
    let Account { phases, total, wall, threads, processes, path, steps, files, searches, .. } = account;
    let phases =
        [Some(&mut phases.startup), phases.setup.as_mut(), phases.write.as_mut(), Some(&mut phases.teardown)];
    let threads = threads.iter_mut().flat_map(|thread| {
        let steps = thread.steps.iter_mut().map(|step| &mut step.start);
        let wakes = thread.wakes.iter_mut().flat_map(|wake| [&mut wake.from, &mut wake.woken]);
        [&mut thread.start, &mut thread.lifetime].into_iter().chain(steps).chain(wakes)
    });
    let processes = processes.iter_mut().flat_map(|process| {
        let execs = process.execs.iter_mut().flat_map(|exec| [&mut exec.start, &mut exec.took]);
        std::iter::once(&mut process.start).chain(&mut process.end).chain(execs)
    });
    let path = path.iter_mut().flat_map(|piece| [&mut piece.from, &mut piece.to]);
    let files = files.iter_mut().map(|file| &mut file.time);
    let searches = searches.iter_mut().map(|search| &mut search.time);
    let steps = steps.iter_mut().map(|step| &mut step.start);
    let totals = phases.into_iter().flatten().chain([total, wall]);
    totals.chain(threads).chain(processes).chain(path).chain(files).chain(searches).chain(steps)
}

fn kept(time: Nanos, part: f64) -> Nanos {
    Nanos::rounded(time.as_f64() * part)
}

/// The mean total as a part of which the traced runs are as long as the untraced ones.
fn untraced_total(total: f64, observed: &ObservedRuns) -> Option<f64> {
    if observed.cold.is_some() {
        return None; // the untraced runs are warm
    }
    let ratio = median_of(&observed.untraced)? / median_of(&observed.traced)?.max(1.0);
    Some(total * ratio.min(1.0))
}

fn of_kind(summary: &mut Summary, wanted: WorkKind) -> impl Iterator<Item = &mut CommonShare> {
    summary.shares.iter_mut().filter(move |share| share.kind == wanted)
}

/// Takes a cost off each share of a kind, at most its time. Returns how much that was.
fn take_off(summary: &mut Summary, kind: WorkKind, cost: impl Fn(&CommonShare) -> f64) -> f64 {
    let mut taken = 0.0;
    for share in of_kind(summary, kind) {
        let part = cost(share).clamp(0.0, share.time.middle.max(0.0));
        share.time.middle -= part;
        taken += part;
    }
    let place = WorkKind::ALL.iter().position(|other| *other == kind).unwrap_or_default();
    summary.kinds[place].0.middle -= taken;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Account;
    use crate::analysis::binaries::FileBinaries;
    use firstbyte_measure::tracer::replay;

    fn summary() -> Summary {
        let bytes = include_bytes!("../../tests/recordings/small.jsonl");
        let recording = replay::read("small", bytes.as_slice()).unwrap().recording;
        Summary::of(vec![Account::of(&recording, &FileBinaries::default()).unwrap()]).unwrap()
    }

    fn sum(summary: &Summary) -> f64 {
        summary.shares.iter().map(|share| share.time.middle).sum()
    }

    #[test]
    fn the_shares_sum_to_what_an_untraced_run_takes() {
        for part in [0.9, 0.6, 0.2] {
            let mut slowed = summary();
            let total = slowed.total.middle;
            let (traced, untraced) = (vec![1e6; 3], vec![part * 1e6; 3]);
            take_off_stops(&mut slowed, &ObservedRuns { traced, untraced, ..ObservedRuns::default() });
            assert!((slowed.headline() - part * total).abs() < 1.0, "{}", slowed.headline());
            assert!((sum(&slowed) - slowed.headline()).abs() < 1.0, "{} of {total}", sum(&slowed));
            assert!(slowed.shares.iter().all(|share| share.time.middle >= 0.0), "{:?}", slowed.shares);
        }
    }

    #[test]
    fn rules_see_accounts_without_the_stops() {
        let mut slowed = summary();
        assert!(without_stops(&slowed).is_none());
        let (traced, untraced) = (vec![1e6; 3], vec![2e5; 3]);
        take_off_stops(&mut slowed, &ObservedRuns { traced, untraced, ..ObservedRuns::default() });
        let unslowed = without_stops(&slowed).unwrap();

        let run = &unslowed.median_run;
        assert_eq!(run.total, slowed.explained_total());
        assert!(run.phases.first_byte().is_none_or(|first| first <= run.total));
        assert!(run.steps.iter().all(|step| step.start <= run.total && step.self_time <= step.elapsed));
        let own: f64 = run.steps.iter().map(|step| step.self_time.as_f64()).sum();
        assert!(own < 1.01 * run.total.as_f64() + 100.0, "{own} of {}", run.total);
    }

    #[test]
    fn without_untraced_runs_the_times_stay_as_recorded() {
        let mut slowed = summary();
        take_off_stops(&mut slowed, &ObservedRuns::default());
        assert_eq!(slowed.slowed, Some(Slowed { untraced: None }));
        assert!((sum(&slowed) - slowed.total.middle).abs() < 1.0);
        assert_eq!(slowed.headline().to_bits(), slowed.total.middle.to_bits());
    }
}
