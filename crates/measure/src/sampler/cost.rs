//! What a sample costs on this machine: in some virtual machines, a timer's interrupt takes twenty times as long as on a
//! real processor, and leaves its caches empty.

use super::SamplerError;
use super::rings::Rings;
use crate::units::Nanos;
use std::hint::black_box;
use std::io;
use std::time::Instant;

/// A walk of this length is long beside the clock's resolution, and short beside the time between two disturbances.
const LONG_ENOUGH: Nanos = Nanos(3_000_000);
/// Like the periods of real runs: between two samples the caches fill again.
pub(super) const PERIOD: Nanos = Nanos(300_000);
/// No walk takes this long.
pub(super) const NEVER: Nanos = Nanos(3_600_000_000_000);
const PAIRS: u32 = 21;

/// One for each cache line of a MiB, about what interpreters use while they start: what a sample costs a program is mostly
/// the cache misses after it.
const LINES: usize = (1 << 20) / 64;

/// The time of one sample, from pairs of walks without and with samples: the speed of a shared machine changes all the
/// time. Three quarters of the pairs show no higher cost, because too many samples are worse than too few.
///
/// # Errors
///
/// This machine does not allow sampling.
pub(super) fn cost_of_sample() -> Result<Nanos, SamplerError> {
    let memory = Memory::new();
    let steps = memory.steps_of_long_walk();
    // this thread is sampled, too
    let rings = Rings::open(Some(NEVER))?;

    let walk = |period| rings.set_period(period).map(|()| memory.walk(steps));
    high_cost(PERIOD, walk).map_err(SamplerError::Failed)
}

/// The cost of one sample, from pairs of walks. `walk` makes one with a sample after each period.
pub(super) fn high_cost(
    period: Nanos,
    mut walk: impl FnMut(Nanos) -> io::Result<Nanos>,
) -> io::Result<Nanos> {
    let by_pair = |_| {
        let (unsampled, sampled) = (walk(NEVER)?, walk(period)?);
        let count = (sampled.0 / period.0).max(1);
        Ok(Nanos(sampled.0.saturating_sub(unsampled.0) / count))
    };
    let mut costs = (0..PAIRS).map(by_pair).collect::<io::Result<Vec<Nanos>>>()?;
    let high = costs.len() * 3 / 4;
    Ok(*costs.select_nth_unstable(high).1)
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    next: usize,
}

/// Each line names another one, in a random circle through all of them, so that no processor can fetch ahead.
pub(super) struct Memory(Vec<Line>);

impl Memory {
    pub(super) fn new() -> Memory {
        let mut order: Vec<usize> = (0..LINES).collect();
        fastrand::Rng::with_seed(0).shuffle(&mut order);

        let mut lines = vec![Line { next: 0 }; LINES];
        for (&from, &to) in order.iter().zip(order.iter().cycle().skip(1)) {
            lines[from].next = to;
        }
        Memory(lines)
    }

    pub(super) fn steps_of_long_walk(&self) -> u64 {
        let mut steps = 1 << 12;
        while self.walk(steps) < LONG_ENOUGH {
            steps *= 2;
        }
        steps
    }

    pub(super) fn walk(&self, steps: u64) -> Nanos {
        let start = Instant::now();
        let mut index = 0;
        for _ in 0..steps {
            index = self.0[index].next;
        }
        black_box(index);
        Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_visits_every_line_once() {
        let memory = Memory::new();
        let mut visited = vec![false; LINES];
        let mut index = 0;

        for _ in 0..LINES {
            assert!(!std::mem::replace(&mut visited[index], true));
            index = memory.0[index].next;
        }
        assert_eq!(index, 0);
    }
}
