//! What a sample costs on this machine: in some virtual machines, a timer's interrupt takes twenty times as long as on a
//! real processor.

use super::SamplerError;
use super::rings::Rings;
use crate::units::Nanos;
use std::hint::black_box;
use std::time::Instant;

/// A loop of this length is long beside the clock's resolution, and short beside the time between two disturbances.
const LONG_ENOUGH: Nanos = Nanos(1_000_000);
const PERIOD: Nanos = Nanos(100_000);
const REPETITIONS: u32 = 8;

/// The time of one sample.
///
/// # Errors
///
/// This machine does not allow sampling.
pub(super) fn cost_of_sample() -> Result<Nanos, SamplerError> {
    let turns = turns_of_long_loop();
    let unsampled = shortest(turns);
    // this thread is sampled, too
    let rings = Rings::open(PERIOD)?;
    let sampled = shortest(turns);
    drop(rings);

    let count = (sampled.0 / PERIOD.0).max(1);
    Ok(Nanos(sampled.0.saturating_sub(unsampled.0) / count))
}

fn turns_of_long_loop() -> u64 {
    let mut turns = 1 << 12;
    while shortest(turns) < LONG_ENOUGH {
        turns *= 2;
    }
    turns
}

/// The shortest of some loops: whatever disturbs them only makes them longer.
fn shortest(turns: u64) -> Nanos {
    (0..REPETITIONS).map(|_| time(turns)).min().unwrap_or_default()
}

fn time(turns: u64) -> Nanos {
    let start = Instant::now();
    for turn in 0..turns {
        black_box(turn);
    }
    Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}
