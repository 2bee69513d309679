//! Divides the executions of a watch among lanes, so that those in one lane do not overlap. There are as many lanes as
//! programs were running at once.

use crate::document::watch::WatchRun;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// The executions with their lanes, from 0, in the order of their starts.
pub(super) fn lanes(runs: &[WatchRun]) -> Vec<(usize, &WatchRun)> {
    let mut ordered: Vec<&WatchRun> = runs.iter().collect();
    ordered.sort_by_key(|run| (run.start, Reverse(run.end)));

    let mut lanes = Lanes::default();
    ordered.into_iter().map(|run| (lanes.take(run), run)).collect()
}

#[derive(Default)]
struct Lanes {
    /// Until when each is in use; the one that is free next is on top.
    busy: BinaryHeap<Reverse<(u64, usize)>>,
    free: BTreeSet<usize>,
    count: usize,
}

impl Lanes {
    /// The lowest lane that is free when the run starts, or a new one.
    fn take(&mut self, run: &WatchRun) -> usize {
        while let Some(Reverse((_, lane))) = self.busy.peek().copied().filter(|next| next.0.0 <= run.start) {
            self.busy.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.busy.push(Reverse((run.end, lane)));
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: u64, end: u64) -> WatchRun {
        WatchRun {
            program: "ls".into(),
            command: None,
            pid: 1,
            start,
            returned: None,
            first_output: None,
            end,
            cpu_ns: 0,
            outcome: String::new(),
        }
    }

    #[test]
    fn runs_that_overlap_have_different_lanes_and_the_lowest_free_one_is_taken() {
        let runs = [run(0, 100), run(10, 20), run(15, 30), run(20, 40), run(35, 50), run(100, 110)];
        let placed: Vec<(usize, u64)> =
            lanes(&runs).into_iter().map(|(lane, run)| (lane, run.start)).collect();
        assert_eq!(placed, [(0, 0), (1, 10), (2, 15), (1, 20), (2, 35), (0, 100)]);
    }

    #[test]
    fn nothing_needs_no_lane() {
        assert!(lanes(&[]).is_empty());
    }
}
