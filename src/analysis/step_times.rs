//! Finds the steps of threads by when they happened, without a look at all of them.

use super::model::ThreadAccount;
use super::step::Step;
use firstbyte_measure::units::Nanos;
use std::cell::OnceCell;

/// The steps of all threads. Those of one thread are in the order in which they began, and may lie in each other.
pub(super) struct StepTimes<'t> {
    threads: &'t [ThreadAccount],
    /// For each step of a thread, the latest end of it and of those before it.
    ends: Vec<OnceCell<Vec<Nanos>>>,
}

impl<'t> StepTimes<'t> {
    pub(super) fn of(threads: &'t [ThreadAccount]) -> StepTimes<'t> {
        StepTimes { threads, ends: threads.iter().map(|_| OnceCell::new()).collect() }
    }

    /// The steps of a thread that began before `to`, from the first one that ended after `from`.
    pub(super) fn between(&self, thread: usize, from: Nanos, to: Nanos) -> &'t [Step] {
        let steps = &self.threads[thread].steps;
        let ends = self.ends[thread].get_or_init(|| latest_ends(steps));
        let until = steps.partition_point(|step| step.start < to);
        let first = ends.partition_point(|end| *end <= from).min(until);
        &steps[first..until]
    }

    /// The steps of a thread that happen at an instant, the last begun first.
    pub(super) fn at(&self, thread: usize, at: Nanos) -> impl Iterator<Item = &'t Step> + use<'t> {
        let steps = self.between(thread, at, Nanos(at.0 + 1));
        steps.iter().rev().filter(move |step| step.start + step.elapsed > at)
    }

    /// The steps of a thread that began at an instant.
    pub(super) fn begun_at(&self, thread: usize, at: Nanos) -> &'t [Step] {
        let steps = &self.threads[thread].steps;
        let before = steps.partition_point(|step| step.start < at);
        &steps[before..steps.partition_point(|step| step.start <= at)]
    }
}

fn latest_ends(steps: &[Step]) -> Vec<Nanos> {
    let mut latest = Nanos(0);
    let end = |step: &Step| {
        latest = latest.max(step.start + step.elapsed);
        latest
    };
    steps.iter().map(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::step::What;

    fn thread(steps: &[(u64, u64)]) -> ThreadAccount {
        let step = |(from, to): &(u64, u64)| {
            let (start, elapsed) = (Nanos(*from), Nanos(to - from));
            Step { start, elapsed, self_time: Nanos(0), what: What::User.into() }
        };
        ThreadAccount {
            pid: 1,
            tid: 1,
            start: Nanos(0),
            lifetime: Nanos(100),
            creator: None,
            wakes: Vec::new(),
            steps: steps.iter().map(step).collect(),
        }
    }

    fn starts(steps: &[Step]) -> Vec<u64> {
        steps.iter().map(|step| step.start.0).collect()
    }

    #[test]
    fn steps_are_found_that_began_long_before() {
        let threads = [thread(&[(0, 10), (10, 90), (20, 30), (30, 40), (40, 50), (90, 100)])];
        let times = StepTimes::of(&threads);
        assert_eq!(starts(times.between(0, Nanos(30), Nanos(40))), [10, 20, 30]);
        assert_eq!(
            starts(times.between(0, Nanos(90), Nanos(100))),
            [90],
            "none of those before lasts so long"
        );
        assert_eq!(times.at(0, Nanos(35)).map(|step| step.start.0).collect::<Vec<_>>(), [30, 10]);
        assert_eq!(times.at(0, Nanos(100)).count(), 0);
        assert_eq!([20, 25].map(|at| times.begun_at(0, Nanos(at)).len()), [1, 0]);
    }

    /// A thread that creates many others has as many pieces on the path.
    #[test]
    fn a_piece_of_a_long_thread_is_found_without_a_look_at_the_rest() {
        let steps: Vec<(u64, u64)> = (0..20_000).map(|n| (n, n + 1)).collect();
        let threads = [thread(&steps)];
        let times = StepTimes::of(&threads);
        let looked_at = |n: u64| times.between(0, Nanos(n), Nanos(n + 1)).len();
        assert_eq!((0..20_000).map(looked_at).sum::<usize>(), 20_000);
    }
}
