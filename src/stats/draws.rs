//! The median of values drawn at random, with replacement.

use super::quantile::quantile;
use fastrand::Rng;

/// A resample of more values than this is not drawn value by value. A thousand resamples of each phase would take as long as
/// the runs themselves, and a million runs would take minutes.
pub(super) const MAX_DRAWN: usize = 500;

/// The median of as many draws with replacement as there are values. Counting how often each was drawn avoids sorting
/// every resample.
pub(super) fn resampled(ascending: &[f64], times_drawn: &mut [u32], rng: &mut Rng) -> f64 {
    if ascending.len() > MAX_DRAWN {
        return of_many(ascending, rng);
    }
    times_drawn.fill(0);
    for _ in 0..ascending.len() {
        times_drawn[rng.usize(..ascending.len())] += 1;
    }
    median_of_drawn(ascending, times_drawn)
}

/// The median of as many draws as there are values.
pub(super) fn median_of_drawn(ascending: &[f64], times_drawn: &[u32]) -> f64 {
    let n = ascending.len();
    let (lower, upper) = (ranked(ascending, times_drawn, (n - 1) / 2), ranked(ascending, times_drawn, n / 2));
    f64::midpoint(lower, upper)
}

/// The same in one step. The drawn ranks are uniform. The median of n uniform numbers between 0 and 1 has a beta
/// distribution with both parameters (n + 1) / 2. For such a large n this is nearly normal, with mean 1/2, variance
/// 1 / (4 (n + 2)) and an excess kurtosis of -6 / (n + 4), here about -0.01. H. A. David and H. N. Nagaraja, "Order Statistics" (2003), section 2.1.
fn of_many(ascending: &[f64], rng: &mut Rng) -> f64 {
    let n = ascending.len() as f64;
    quantile(ascending, 0.5 + normal(rng) / (2.0 * (n + 2.0).sqrt())).unwrap_or(f64::NAN)
}

/// G. E. P. Box and M. E. Muller, "A Note on the Generation of Random Normal Deviates" (1958).
fn normal(rng: &mut Rng) -> f64 {
    // 1 - f64() is never 0, which has no logarithm
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// The value at `rank` (from 0) in the resample in which each value occurs `times_drawn` times.
fn ranked(ascending: &[f64], times_drawn: &[u32], rank: usize) -> f64 {
    let mut passed = 0;
    for (value, times) in ascending.iter().zip(times_drawn) {
        passed += *times as usize;
        if passed > rank {
            return *value;
        }
    }
    ascending[ascending.len() - 1]
}
