//! The clock's resolution.

use firstbyte_measure::clock::now;

/// Pairs of readings to compare.
const PAIRS: usize = 20_000;

/// The step in which the clock advances, in nanoseconds. Nothing shorter can be distinguished from 0.
///
/// If the underlying counter advances in coarse steps, the differences between two readings cluster around multiples of
/// them (on one machine at 31 and 40 ns, spread by the conversion to nanoseconds). The step is the smallest distance
/// between two such peaks. A single peak means that the counter is as fine as the nanoseconds in which it is reported.
pub(super) fn step() -> u64 {
    let mut counts = [0_u32; MAX_DIFFERENCE_NANOS];
    for _ in 0..PAIRS {
        let first = now();
        let difference = usize::try_from(now().0.saturating_sub(first.0)).unwrap_or(MAX_DIFFERENCE_NANOS);
        if let Some(count) = counts.get_mut(difference) {
            *count += 1;
        }
    }
    distance(&peaks(&counts))
}

/// Longer differences contain an interruption.
const MAX_DIFFERENCE_NANOS: usize = 400;

/// How far a peak is spread.
const SPREAD: usize = 3;

/// The differences that are more frequent than any near them, and make up at least one in a hundred.
fn peaks(counts: &[u32]) -> Vec<usize> {
    let is_peak = |at: &usize| {
        let around = &counts[at.saturating_sub(SPREAD)..(at + SPREAD + 1).min(counts.len())];
        counts[*at] as usize > PAIRS / 100 && around.iter().all(|other| *other <= counts[*at])
    };
    (0..counts.len()).filter(is_peak).collect()
}

fn distance(peaks: &[usize]) -> u64 {
    peaks.windows(2).map(|pair| (pair[1] - pair[0]) as u64).min().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_counter_has_several_peaks_and_a_fine_one_has_one() {
        let mut counts = [0; MAX_DIFFERENCE_NANOS];
        for (at, count) in [(29, 100), (30, 900), (31, 400), (39, 300), (40, 4000), (41, 2000)] {
            counts[at] = count;
        }
        assert_eq!(distance(&peaks(&counts)), 10);
        counts[30] = 0;
        counts[31] = 0;
        assert_eq!(distance(&peaks(&counts)), 1);
        assert!(step() >= 1);
    }
}
