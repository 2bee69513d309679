//! The order of runs. Pure: a seed and counts in, an order out.
//!
//! Every round runs every program once, in a random order. A fixed order once biased a program by 8 µs, because of the
//! program that ran before it. Rounds come in blocks. Each block has traced and untraced rounds, so that drift affects
//! both alike. Attaching and detaching patches the kernel's code, and the runs that follow are slower for a while, so
//! some are discarded after each change.

use super::adaptive::Adaptive;
use std::time::Duration;

/// How long to measure, or how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunLimit {
    /// This many runs of each program.
    Runs(u32),
    /// As many runs as fit into this time.
    Time(Duration),
    /// This many runs of each program, or fewer if they would take longer than this time.
    RunsWithin(u32, Duration),
    /// Until there are enough runs.
    Adaptive(Adaptive),
}

/// What the runs of an experiment are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Many samples. Blocks are long, with one untraced round for three traced ones, but not more than [`MAX_UNTRACED`]. A
    /// run that does not count is repeated.
    Time,
    /// A few recordings to explain. Blocks are short, and half of their rounds are untraced. No run is repeated.
    Explain,
    /// The same by a tracer that stops the program: the times of its runs mean little without untraced runs beside them,
    /// however few.
    ExplainStopped,
    /// The same for sampled runs. Sampling changes nothing in the kernel's code, so that one round after each change is
    /// enough to warm the caches again.
    Sample,
}

impl Aim {
    /// Runs are few, and each one counts.
    pub fn explains(self) -> bool {
        self != Aim::Time
    }
}

/// Runs to discard after programs were attached or detached (measured: the first dozen take 5 % longer).
const DISCARDED_RUNS: usize = 16;
/// But no more rounds than fit into this time, because a slow program settles within one run.
const DISCARDED_TIME: Duration = Duration::from_millis(20);

/// With [`Aim::Time`], fewer traced rounds than this are not enough, and more than [`MAX_ROUNDS`] add nothing.
const MIN_ROUNDS: u32 = 10;
const MAX_ROUNDS: u32 = 300;

/// The same with [`Aim::Explain`].
pub(super) const MIN_EXPLAINED: u32 = 3;
const MAX_EXPLAINED: u32 = 20;

/// With [`Aim::Explain`], fewer traced rounds than this, with untraced ones beside them, give no figure of the overhead.
pub const MIN_BESIDE: u32 = MIN_BLOCKS * BLOCK_EXPLAINED;

/// The runs after a change take 5 % longer for a few milliseconds, which does not matter in a round as long as this.
const LONG_ROUND: Duration = Duration::from_millis(200);

/// The largest number of blocks. A shared machine's speed changes every second. Within a block this affects traced and
/// untraced rounds alike, and only blocks are independent of each other. Each one costs two changes.
const BLOCKS: u32 = 8;
const MIN_BLOCKS: u32 = 4;

/// With [`Aim::Time`] a block has no more untraced rounds than this. More would make each ratio more precise than the machine
/// lets different blocks agree.
const MAX_UNTRACED: u32 = 16;

/// With [`Aim::Explain`] a block has this many traced rounds, until there are [`BLOCKS_EXPLAINED`] blocks. They are short,
/// because a change of the machine's speed within a block distorts its ratio.
const BLOCK_EXPLAINED: u32 = 3;
const BLOCKS_EXPLAINED: u32 = 60;

/// The traced part of a block is at least this many times as long as the runs that are discarded after a change, and as its
/// changes.
const WORTH: u32 = 4;

/// The two changes of a block. The kernel attaches again only once all processors have seen that nothing is attached
/// (`tp_rcu_cond_sync` in kernel/tracepoint.c), which takes about 10 ms.
const CHANGES: Duration = Duration::from_millis(20);

/// The number of rounds of each kind, and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub traced: u32,
    pub untraced: u32,
    pub untraced_first: bool,
}

impl Block {
    /// The rounds in order: for each part whether it is traced, and its number of rounds.
    pub fn parts(self) -> [(bool, u32); 2] {
        let parts = [(true, self.traced), (false, self.untraced)];
        if self.untraced_first { [parts[1], parts[0]] } else { parts }
    }
}

/// The number of rounds, block by block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub blocks: Vec<Block>,
    /// Rounds to discard after each change between traced and untraced.
    pub discarded: u32,
    /// The expected number of traced rounds, which is smaller than that of the blocks if the time is limited.
    pub likely: u32,
}

impl Schedule {
    /// A schedule for `programs` programs, which together take `round` for one run each.
    pub fn new(aim: Aim, limit: RunLimit, round: Duration, programs: usize, overhead: bool) -> Schedule {
        // Without a warm-up the length of a round is not known. Runs to explain may be long, so none are discarded.
        let unknown = aim.explains() && round.is_zero();
        let discarded = match aim {
            _ if unknown => 0,
            Aim::Sample => 1,
            Aim::Time | Aim::Explain | Aim::ExplainStopped => discarded(round, programs),
        };
        let rounds = match limit {
            RunLimit::Runs(runs) | RunLimit::RunsWithin(runs, _) => runs,
            RunLimit::Time(time) if aim.explains() => {
                let beside = if aim == Aim::ExplainStopped { 0 } else { MIN_BESIDE };
                return Schedule::explained_within(time, round, discarded, overhead.then_some(beside));
            }
            RunLimit::Time(time) => {
                rounds_that_fit(time, round, discarded, overhead).clamp(MIN_ROUNDS, MAX_ROUNDS)
            }
            RunLimit::Adaptive(adaptive) => {
                return Schedule::adaptive(adaptive, round, discarded, overhead);
            }
        };
        match aim {
            Aim::Time => Schedule::timing(rounds, round, discarded, overhead),
            Aim::Explain | Aim::ExplainStopped | Aim::Sample => {
                Schedule::explaining(rounds, discarded, overhead)
            }
        }
    }

    /// Long blocks, traced rounds first.
    fn timing(rounds: u32, round: Duration, discarded: u32, overhead: bool) -> Schedule {
        let count = if overhead { blocks(rounds, round, discarded) } else { 1 };
        let block = |block| timed_block(share(rounds, count, block), overhead);
        Schedule { blocks: (0..count).map(block).collect(), discarded, likely: rounds }
    }

    /// As many rounds as fit into a time. `least`: with fewer untraced rounds beside the traced ones there are none. After a
    /// long round none has to be discarded.
    fn explained_within(time: Duration, round: Duration, discarded: u32, least: Option<u32>) -> Schedule {
        let discarded = if round > LONG_ROUND { 0 } else { discarded };
        let beside = fitting(time, round * 2).min(MAX_EXPLAINED);
        if least.is_some_and(|least| beside >= least) {
            return Schedule::explaining(beside.max(MIN_EXPLAINED), discarded, true);
        }
        let alone = fitting(time, round).clamp(MIN_EXPLAINED, MAX_EXPLAINED);
        Schedule::explaining(alone, discarded, false)
    }

    /// Short blocks. Each begins with the kind with which the previous one ended.
    fn explaining(rounds: u32, discarded: u32, overhead: bool) -> Schedule {
        let count = if overhead { (rounds / BLOCK_EXPLAINED).clamp(1, BLOCKS_EXPLAINED) } else { 1 };
        let block = |block: u32| {
            let traced = share(rounds, count, block);
            let untraced = if overhead { traced } else { 0 };
            Block { traced, untraced, untraced_first: !block.is_multiple_of(2) }
        };
        // one requested run gives one run
        let discarded = if rounds == 1 { 0 } else { discarded };
        Schedule { blocks: (0..count).map(block).collect(), discarded, likely: rounds }
    }

    /// Blocks that grow. Only the first ones have untraced rounds.
    fn adaptive(adaptive: Adaptive, round: Duration, discarded: u32, overhead: bool) -> Schedule {
        let block = |(block, traced): (usize, u32)| timed_block(traced, overhead && block < BLOCKS as usize);
        let likely = rounds_that_fit(adaptive.time, round, discarded, overhead);
        Schedule {
            blocks: adaptive.blocks().into_iter().enumerate().map(block).collect(),
            discarded,
            likely: likely.clamp(adaptive.least, adaptive.most.max(adaptive.least)),
        }
    }

    /// The expected number of runs for `programs` programs, including the discarded ones.
    pub fn runs(&self, programs: usize) -> u64 {
        let mut left = self.likely;
        let mut rounds = 0;
        for block in &self.blocks {
            let change = if block.untraced > 0 { 2 * self.discarded } else { 0 };
            rounds += block.traced.min(left) + if left > 0 { block.untraced + change } else { 0 };
            left = left.saturating_sub(block.traced);
        }
        u64::from(rounds) * programs as u64
    }
}

fn timed_block(traced: u32, overhead: bool) -> Block {
    let untraced = if overhead { traced.div_ceil(3).min(MAX_UNTRACED) } else { 0 };
    Block { traced, untraced, untraced_first: false }
}

/// How many rounds fit into a time.
fn fitting(time: Duration, round: Duration) -> u32 {
    let fitting = (time.as_secs_f64() / round.as_secs_f64().max(1e-6)).min(1e6);
    // truncated on purpose: only whole rounds count
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a million")]
    let fitting = fitting as u32;
    fitting
}

/// The number of traced rounds that fit, with their untraced rounds and the discarded ones.
fn rounds_that_fit(time: Duration, round: Duration, discarded: u32, overhead: bool) -> u32 {
    if !overhead {
        return fitting(time, round);
    }
    let beside = |count: u32| {
        let fitting = fitting(time.saturating_sub(CHANGES * count), round);
        let kept = fitting.saturating_sub(count * 2 * discarded);
        kept.saturating_sub(count * MAX_UNTRACED).max(kept / 4 * 3)
    };
    let count =
        (1..=BLOCKS).find(|&count| blocks(beside(count), round, discarded) <= count).unwrap_or(BLOCKS);
    beside(count)
}

/// The number of blocks into which this number of traced rounds is divided.
fn blocks(rounds: u32, round: Duration, discarded: u32) -> u32 {
    let by_runs = rounds / (WORTH * discarded).max(1);
    let by_time = (round * rounds).as_millis() / (CHANGES * WORTH).as_millis();
    let most = u32::try_from(by_time).unwrap_or(BLOCKS);
    by_runs.min(most).clamp(MIN_BLOCKS, BLOCKS).min(rounds.max(1))
}

/// Rounds to discard after programs were attached or detached: enough runs, or enough time.
pub fn discarded(round: Duration, programs: usize) -> u32 {
    let by_runs = DISCARDED_RUNS.div_ceil(programs.max(1)) as u128;
    let by_time = DISCARDED_TIME.as_nanos().div_ceil(round.as_nanos().max(1));
    u32::try_from(by_runs.min(by_time)).unwrap_or(1)
}

/// One part of `whole`, which is divided into `parts` as equal as possible.
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

    /// Traced and untraced rounds of each block.
    fn pairs(schedule: &Schedule) -> Vec<(u32, u32)> {
        schedule.blocks.iter().map(|block| (block.traced, block.untraced)).collect()
    }

    #[test]
    fn blocks_sum_up_to_the_runs_asked_for() {
        for runs in [1, 2, 3, 4, 5, 10, 97, 1000] {
            let schedule = Schedule::new(Aim::Time, RunLimit::Runs(runs), Duration::from_millis(1), 3, true);
            assert_eq!(schedule.blocks.iter().map(|block| block.traced).sum::<u32>(), runs, "{runs} runs");
            assert!(schedule.blocks.iter().all(|block| block.traced > 0 && block.untraced > 0));
        }
    }

    #[test]
    fn without_overhead_there_is_one_block_and_nothing_untraced() {
        let schedule = Schedule::new(Aim::Time, RunLimit::Runs(7), Duration::from_millis(1), 3, false);
        assert_eq!(pairs(&schedule), [(7, 0)]);
        assert_eq!(schedule.runs(3), 21);
    }

    #[test]
    fn time_bounds_the_rounds_within_reason() {
        let rounds = |time, round| {
            let schedule = Schedule::new(Aim::Time, RunLimit::Time(time), round, 20, true);
            schedule.blocks.iter().map(|block| block.traced).sum::<u32>()
        };
        assert_eq!(rounds(Duration::from_secs(60), Duration::from_secs(60)), MIN_ROUNDS);
        assert_eq!(rounds(Duration::from_secs(60), Duration::from_nanos(1)), MAX_ROUNDS);
        assert_eq!(rounds(Duration::from_secs(74), Duration::from_secs(1)), 42, "and 14 and 8 changes");
    }

    #[test]
    fn the_first_adaptive_blocks_have_untraced_rounds() {
        let long = Adaptive { least: 1, most: 1000, time: Duration::from_secs(1), ..Adaptive::default() };
        let schedule = Schedule::new(Aim::Time, RunLimit::Adaptive(long), Duration::from_millis(50), 1, true);
        let untraced = schedule.blocks.iter().filter(|block| block.untraced > 0).count();
        assert!(untraced == BLOCKS as usize && schedule.blocks.len() > untraced);
        let adaptive = Adaptive { least: 10, most: 60, time: Duration::from_secs(1), ..Adaptive::default() };
        let schedule =
            Schedule::new(Aim::Time, RunLimit::Adaptive(adaptive), Duration::from_millis(50), 1, true);
        assert_eq!(pairs(&schedule), [(10, 4), (5, 2), (7, 3), (11, 4), (16, 6), (11, 4)]);
        assert_eq!(schedule.likely, 10, "what fits the time, the least runs at least");
        assert_eq!(schedule.runs(1), 10 + 4 + 2);
    }

    #[test]
    fn explained_runs_alternate_with_as_many_untraced_ones_in_short_blocks() {
        let explained =
            |limit, overhead| Schedule::new(Aim::Explain, limit, Duration::from_secs(1), 1, overhead);
        let schedule = explained(RunLimit::Runs(8), true);
        assert_eq!(pairs(&schedule), [(4, 4), (4, 4)]);
        assert_eq!(schedule.blocks[0].parts(), [(true, 4), (false, 4)]);
        assert_eq!(schedule.blocks[1].parts(), [(false, 4), (true, 4)]);
        assert_eq!(pairs(&explained(RunLimit::Runs(8), false)), [(8, 0)]);
        assert_eq!(explained(RunLimit::Runs(1), true).discarded, 0);
        let unknown = Schedule::new(Aim::Explain, RunLimit::Runs(5), Duration::ZERO, 1, false);
        assert_eq!(unknown.runs(1), 5, "their length is not known");
        let sampled = Schedule::new(Aim::Sample, RunLimit::Runs(8), Duration::from_millis(1), 1, true);
        assert_eq!((pairs(&sampled), sampled.discarded), (vec![(4, 4), (4, 4)], 1));
        let likely = |seconds| explained(RunLimit::Time(Duration::from_secs(seconds)), false).likely;
        assert_eq!([1, 8, 60].map(likely), [3, 8, 20]);
        let rounds = |aim, ms| {
            let (time, round) = (Duration::from_secs(2), Duration::from_millis(ms));
            let schedule = Schedule::new(aim, RunLimit::Time(time), round, 1, true);
            (schedule.likely, schedule.blocks.iter().map(|block| block.untraced).sum::<u32>())
        };
        let times = [1, 60, 100, 1000];
        assert_eq!(times.map(|ms| rounds(Aim::Explain, ms)), [(20, 20), (16, 16), (20, 0), (3, 0)]);
        let stopped = times.map(|ms| rounds(Aim::ExplainStopped, ms));
        assert_eq!(stopped, [(20, 20), (16, 16), (10, 10), (3, 3)]);
    }

    #[test]
    fn many_runs_have_no_more_untraced_ones_than_the_ratio_needs() {
        let of =
            |micros| Schedule::new(Aim::Time, RunLimit::Runs(2000), Duration::from_micros(micros), 1, true);
        assert_eq!(pairs(&of(900)), [(250, 16); 8]);
        assert_eq!(of(900).runs(1), 2000 + 8 * (16 + 2 * 16), "with the discarded ones");
        assert_eq!(pairs(&of(90)), [(500, 16); 4], "changes would take as long as the runs");
    }

    #[test]
    fn changes_take_a_quarter_of_the_time_between_them_at_most() {
        let of = |micros| blocks(2000, Duration::from_micros(micros), 16);
        assert_eq!([159, 199, 200, 240, 319, 320, 900].map(of), [4, 4, 5, 6, 7, 8, 8]);
    }

    #[test]
    fn changes_take_time_in_which_no_round_fits() {
        let of = |overhead| rounds_that_fit(Duration::from_secs(1), Duration::from_millis(1), 16, overhead);
        assert_eq!(of(false), 1000);
        assert_eq!(of(true), 1000 - 7 * (20 + 2 * 16 + 16), "seven blocks");
    }

    #[test]
    fn few_programs_discard_more_rounds() {
        let fast = Duration::from_micros(50);
        assert_eq!((discarded(fast, 1), discarded(fast, 5), discarded(fast, 40)), (16, 4, 1));
        assert_eq!(discarded(Duration::from_millis(5), 1), 4, "20 ms are enough");
        assert_eq!(discarded(Duration::from_secs(5), 1), 1);
        assert_eq!(discarded(Duration::ZERO, 1), 16);
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
