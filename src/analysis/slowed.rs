//! Runs that the tracer stopped at every system call, and what they would take without the stops.

use super::attribution::WorkKind;
use super::summary::{CommonShare, Slowed, Summary};
use crate::analysis::runs::ObservedRuns;
use crate::stats::median_of;

/// Takes what the stops cost off the summary's shares, by the untraced runs beside the traced ones. The totals and the
/// accounts stay as they were recorded.
pub(super) fn take_off_stops(summary: &mut Summary, observed: &ObservedRuns) {
    let untraced = untraced_total(summary.total.middle, observed);
    summary.slowed = Some(Slowed { untraced });
    let Some(untraced) = untraced else { return };

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
    fn without_untraced_runs_the_times_stay_as_recorded() {
        let mut slowed = summary();
        take_off_stops(&mut slowed, &ObservedRuns::default());
        assert_eq!(slowed.slowed, Some(Slowed { untraced: None }));
        assert!((sum(&slowed) - slowed.total.middle).abs() < 1.0);
        assert_eq!(slowed.headline().to_bits(), slowed.total.middle.to_bits());
    }
}
