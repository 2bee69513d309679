//! Which program runs when. Pure: a seed and counts in, an order out.
//!
//! Every round runs every program once, in a random order (a fixed one was seen to bias a program by 8 µs, because of
//! who ran before it). Rounds come in blocks: in each, traced rounds and then untraced ones, so that what drifts hits
//! both alike. Attaching and detaching patches the kernel's code, and the runs that follow are slower for a while:
//! some are thrown away after each change.

use super::adaptive::Adaptive;
use std::time::Duration;

/// How long, or how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// So many runs of each program.
    Runs(u32),
    /// As many as fit.
    Time(Duration),
    /// Until there are enough.
    Adaptive(Adaptive),
}

/// Runs to be thrown away after programs were attached or detached (measured: the first dozen take 5 % longer).
const SETTLING_RUNS: usize = 16;
/// But no more rounds than make up this time: a program that takes long has settled after one run.
const SETTLING_TIME: Duration = Duration::from_millis(20);

/// Fewer traced rounds than this say little, more than [`MOST`] nothing new.
const FEWEST: u32 = 10;
const MOST: u32 = 300;

/// Blocks of rounds, each with its traced and its untraced part, at most. A shared machine's speed changes by the second:
/// within a block that hits both parts alike, and only the blocks are independent of each other.
const BLOCKS: u32 = 12;
const FEWEST_BLOCKS: u32 = 4;

/// The traced part of a block is at least so many times as long as what is thrown away after a change.
const WORTH: u32 = 4;

/// How many rounds, block by block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// (traced rounds, untraced rounds) of each block.
    pub blocks: Vec<(u32, u32)>,
    /// Rounds to be thrown away after each change between traced and untraced.
    pub settling: u32,
    /// Traced rounds that are likely to be made: fewer than the blocks have where the time bounds them.
    pub likely: u32,
}

impl Schedule {
    /// A schedule for `programs` programs, of which one round takes `round`.
    pub fn new(budget: Budget, round: Duration, programs: usize, overhead: bool) -> Schedule {
        let settling = settling(round, programs);
        let rounds = match budget {
            Budget::Runs(runs) => runs,
            Budget::Time(time) => rounds_that_fit(time, round, settling, overhead).clamp(FEWEST, MOST),
            Budget::Adaptive(adaptive) => return Schedule::adaptive(adaptive, round, settling, overhead),
        };
        let count = if overhead { blocks(rounds, settling) } else { 1 };
        let blocks = (0..count).map(|block| {
            let traced = share(rounds, count, block);
            (traced, if overhead { traced.div_ceil(3) } else { 0 })
        });
        Schedule { blocks: blocks.collect(), settling, likely: rounds }
    }

    /// Blocks that grow; the first few have untraced rounds.
    fn adaptive(adaptive: Adaptive, round: Duration, settling: u32, overhead: bool) -> Schedule {
        let untraced = |(block, traced): (usize, u32)| {
            (traced, if overhead && block < BLOCKS as usize { traced.div_ceil(3) } else { 0 })
        };
        let likely = rounds_that_fit(adaptive.time, round, settling, overhead);
        Schedule {
            blocks: adaptive.blocks().into_iter().enumerate().map(untraced).collect(),
            settling,
            likely: likely.clamp(adaptive.least, adaptive.most.max(adaptive.least)),
        }
    }

    /// Runs that are likely to be made, thrown away ones included, for `programs` programs.
    pub fn runs(&self, programs: usize) -> u64 {
        let mut left = self.likely;
        let mut rounds = 0;
        for &(traced, untraced) in &self.blocks {
            let change = if untraced > 0 { 2 * self.settling } else { 0 };
            rounds += traced.min(left) + if left > 0 { untraced + change } else { 0 };
            left = left.saturating_sub(traced);
        }
        u64::from(rounds) * programs as u64
    }

    /// Whether untraced runs are part of it.
    pub fn overhead(&self) -> bool {
        self.blocks.iter().any(|(_, untraced)| *untraced > 0)
    }
}

fn rounds_that_fit(time: Duration, round: Duration, settling: u32, overhead: bool) -> u32 {
    let fitting = (time.as_secs_f64() / round.as_secs_f64().max(1e-6)).min(1e6);
    // truncation is what is wanted: rounds that fit whole
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a million")]
    let fitting = fitting as u32;
    if !overhead {
        return fitting;
    }
    let beside = |count: u32| fitting.saturating_sub(count * 2 * settling) / 4 * 3;
    let count = (1..=BLOCKS).find(|&count| blocks(beside(count), settling) <= count).unwrap_or(BLOCKS);
    beside(count)
}

/// Into how many blocks so many traced rounds are cut.
fn blocks(rounds: u32, settling: u32) -> u32 {
    (rounds / (WORTH * settling).max(1)).clamp(FEWEST_BLOCKS, BLOCKS).min(rounds.max(1))
}

/// Rounds to be thrown away after programs were attached or detached: enough runs, or enough time.
pub fn settling(round: Duration, programs: usize) -> u32 {
    let by_runs = SETTLING_RUNS.div_ceil(programs.max(1)) as u128;
    let by_time = SETTLING_TIME.as_nanos().div_ceil(round.as_nanos().max(1));
    u32::try_from(by_runs.min(by_time)).unwrap_or(1)
}

/// The part of `whole` that falls to one of `parts`, so that the parts sum up to it.
fn share(whole: u32, parts: u32, part: u32) -> u32 {
    whole / parts + u32::from(part < whole % parts)
}

/// The order within a round: all of `programs`, shuffled.
pub fn round(programs: &[usize], random: &mut fastrand::Rng) -> Vec<usize> {
    let mut order = programs.to_vec();
    random.shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_sum_up_to_the_runs_asked_for() {
        for runs in [1, 2, 3, 4, 5, 10, 97, 1000] {
            let schedule = Schedule::new(Budget::Runs(runs), Duration::from_millis(1), 3, true);
            assert_eq!(schedule.blocks.iter().map(|b| b.0).sum::<u32>(), runs, "{runs} runs");
            assert!(schedule.blocks.iter().all(|b| b.0 > 0 && b.1 > 0));
        }
    }

    #[test]
    fn without_overhead_there_is_one_block_and_nothing_untraced() {
        let schedule = Schedule::new(Budget::Runs(7), Duration::from_millis(1), 3, false);
        assert_eq!(schedule.blocks, [(7, 0)]);
        assert_eq!(schedule.runs(3), 21);
    }

    #[test]
    fn time_bounds_the_rounds_within_reason() {
        let rounds = |time, round| {
            let schedule = Schedule::new(Budget::Time(time), round, 20, true);
            schedule.blocks.iter().map(|b| b.0).sum::<u32>()
        };
        assert_eq!(rounds(Duration::from_secs(60), Duration::from_secs(60)), FEWEST);
        assert_eq!(rounds(Duration::from_secs(60), Duration::from_nanos(1)), MOST);
        assert_eq!(rounds(Duration::from_secs(74), Duration::from_secs(1)), 39, "and 13 and 9 changes");
    }

    #[test]
    fn the_first_adaptive_blocks_have_untraced_rounds() {
        let long = Adaptive { least: 1, most: 1000, time: Duration::from_secs(1), precision: 0.01 };
        let schedule = Schedule::new(Budget::Adaptive(long), Duration::from_millis(50), 1, true);
        let untraced = schedule.blocks.iter().filter(|(_, untraced)| *untraced > 0).count();
        assert!(untraced == BLOCKS as usize && schedule.blocks.len() > untraced);
        let adaptive = Adaptive { least: 10, most: 60, time: Duration::from_secs(1), precision: 0.01 };
        let schedule = Schedule::new(Budget::Adaptive(adaptive), Duration::from_millis(50), 1, true);
        assert_eq!(schedule.blocks, [(10, 4), (5, 2), (7, 3), (11, 4), (16, 6), (11, 4)]);
        assert_eq!(schedule.likely, 10, "what fits the time, the least runs at least");
        assert_eq!(schedule.runs(1), 10 + 4 + 2);
    }

    #[test]
    fn few_programs_settle_for_more_rounds() {
        let fast = Duration::from_micros(50);
        assert_eq!((settling(fast, 1), settling(fast, 5), settling(fast, 40)), (16, 4, 1));
        assert_eq!(settling(Duration::from_millis(5), 1), 4, "20 ms are enough");
        assert_eq!(settling(Duration::from_secs(5), 1), 1);
        assert_eq!(settling(Duration::ZERO, 1), 16);
    }

    #[test]
    fn a_round_runs_every_program_once_in_an_order_that_the_seed_decides() {
        let mut orders = Vec::new();
        for seed in [1, 1, 2] {
            let mut random = fastrand::Rng::with_seed(seed);
            orders.push((0..5).map(|_| round(&[0, 1, 2, 3, 4, 5, 6], &mut random)).collect::<Vec<_>>());
        }
        for order in orders.iter().flatten() {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6]);
        }
        assert_eq!(orders[0], orders[1]);
        assert_ne!(orders[0], orders[2]);
        assert_ne!(orders[0][0], orders[0][1]);
    }
}
