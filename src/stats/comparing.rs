//! Two programs, or one program before and after: faster, slower, or can't tell.

use super::bootstrap::{Bootstrap, Interval};
use super::order;
use super::quantile::{median, sorted};
use serde::{Deserialize, Serialize};
use std::fmt;

/// With fewer pairs there is no verdict: by the sign test, n pairs all on one side come about by chance with
/// probability `2 * 0.5^n`, and 8 is the first n for which that is below 1 %.
pub const MIN_PAIRS: usize = 8;

/// With at least this many pairs, there is a verdict if each of them is [`FAR`] apart, too.
const MIN_FAR_PAIRS: usize = 3;

/// A ratio that noise hardly makes. Three pairs of the same program are all so far apart on one side in less than 1 % of
/// comparisons (`2 * p^3`), unless more than p = 17 % of its pairs are.
const FAR: f64 = 3.0;

/// The confidence that a verdict needs. It is above the usual 95 %, because a table contains many comparisons and a
/// false alarm costs more than a missed 1 %.
pub const CONFIDENCE: f64 = 0.99;

/// The verdict on the new side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It takes less: the whole interval of the ratio lies below 1, and with few pairs far below.
    Faster,
    /// It takes more: the whole interval lies above 1, and with few pairs far above.
    Slower,
    /// Otherwise.
    CantTell,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::CantTell => "can't tell",
        })
    }
}

/// New over old, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Median of the ratios new / old of the pairs; without pairs, the ratio of the medians.
    pub ratio: f64,
    pub interval: Interval,
    /// The number of pairs; without pairs, the number of values of the smaller side.
    pub pairs: usize,
}

impl Comparison {
    /// Judges the new side.
    pub fn verdict(&self) -> Verdict {
        let least = match self.pairs {
            MIN_PAIRS.. => 1.0,
            MIN_FAR_PAIRS.. => FAR,
            _ => return Verdict::CantTell,
        };
        if self.interval.high < 1.0 / least {
            Verdict::Faster
        } else if self.interval.low > least {
            Verdict::Slower
        } else {
            Verdict::CantTell
        }
    }
}

/// Compares value by value: `old[i]` and `new[i]` were measured next to each other, so drift affects both and cancels in
/// their ratio. Surplus values of the longer side are not used.
///
/// The ratios are resampled as logarithms, so that exchanging the sides inverts the result exactly.
/// `None` when there is no pair, or a value is not positive and finite.
pub fn paired(old: &[f64], new: &[f64], bootstrap: Bootstrap) -> Option<Comparison> {
    let (logs, center) = log_ratios(old, new)?;
    let interval = log_interval(&logs, center, bootstrap)?;
    Some(Comparison {
        ratio: center.exp(),
        interval: Interval { low: interval.low.exp(), high: interval.high.exp() },
        pairs: logs.len(),
    })
}

/// Always resamples the side whose median is positive, so that exchanged sides draw the same resamples.
fn log_interval(logs: &[f64], center: f64, bootstrap: Bootstrap) -> Option<Interval> {
    if center >= 0.0 {
        return bootstrap.median_interval(logs);
    }
    let mirrored: Vec<f64> = logs.iter().map(|log| -log).collect();
    let interval = bootstrap.median_interval(&mirrored)?;
    Some(Interval { low: -interval.high, high: -interval.low })
}

/// [`paired`] as verdicts need it: the interval has a confidence of [`CONFIDENCE`] for any number of pairs and any
/// distribution of their ratios, see [`super::order`]. With fewer than [`MIN_PAIRS`] it is the range of the ratios.
pub fn judge(old: &[f64], new: &[f64]) -> Option<Comparison> {
    let (logs, center) = log_ratios(old, new)?;
    let interval = order::median_interval(&sorted(&logs)?, CONFIDENCE)?;
    Some(Comparison {
        ratio: center.exp(),
        interval: Interval { low: interval.low.exp(), high: interval.high.exp() },
        pairs: logs.len(),
    })
}

/// The logarithms of the ratios of all pairs, in their order, and their median.
fn log_ratios(old: &[f64], new: &[f64]) -> Option<(Vec<f64>, f64)> {
    let positive = old.iter().zip(new).all(|(old, new)| *old > 0.0 && *new > 0.0);
    let logs: Vec<f64> = old.iter().zip(new).map(|(old, new)| (new / old).ln()).collect();
    let center = median(&sorted(&logs).filter(|_| positive)?)?;
    Some((logs, center))
}

/// Compares two sets that were measured at different times, such as the results in two files, by the ratio of their
/// medians, at a confidence of [`CONFIDENCE`]. The values of each set are in the order in which they were measured, so
/// drift within a set widens the interval. Changes between the two sets affect the ratio, but not the interval.
///
/// Uses logarithms, like [`paired`]. `None` when a side is empty, or a value is not positive and finite.
pub fn judge_unpaired(old: &[f64], new: &[f64], seed: u64) -> Option<Comparison> {
    let positive = old.iter().chain(new).all(|value| *value > 0.0);
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let (old_logs, new_logs) = (logs(old), logs(new));
    let center = |logs: &[f64]| median(&sorted(logs)?);
    let ratio = (center(&new_logs)? - center(&old_logs).filter(|_| positive)?).exp();
    let bootstrap = Bootstrap { resamples: 2000, confidence: CONFIDENCE, seed };
    let interval = bootstrap.difference_interval(&old_logs, &new_logs)?;
    let interval = Interval { low: interval.low.exp(), high: interval.high.exp() };
    Some(Comparison { ratio, interval, pairs: old.len().min(new.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    /// Durations as measured on machines: a drift that both sides share, skewed noise, and occasional outliers.
    fn durations(rng: &mut Rng, drift: f64, factor: f64) -> f64 {
        let noise = -0.02 * rng.f64().max(1e-12).ln();
        let outlier = if rng.u8(..50) == 0 { 1.0 + rng.f64() } else { 1.0 };
        1e6 * factor * drift * (1.0 + noise) * outlier
    }

    fn simulated(seed: u64, pairs: usize, factor: f64) -> Comparison {
        let mut rng = Rng::with_seed(seed);
        let (mut old, mut new, mut drift) = (Vec::new(), Vec::new(), 1.0);
        for _ in 0..pairs {
            drift *= 0.99 + 0.02 * rng.f64();
            old.push(durations(&mut rng, drift, 1.0));
            new.push(durations(&mut rng, drift, factor));
        }
        judge(&old, &new).unwrap()
    }

    #[test]
    fn a_program_against_itself_is_cant_tell_in_at_least_95_percent_of_comparisons() {
        for pairs in [1, 5, 8, 10, 31, 100] {
            let undecided =
                (0..200).filter(|seed| simulated(*seed, pairs, 1.0).verdict() == Verdict::CantTell).count();
            assert!(undecided >= 190, "{pairs} pairs: {undecided} of 200");
        }
    }

    /// A ratio whose median is 1: normal, skewed, or of programs that take one of two times.
    fn ratio(rng: &mut Rng, shape: &str) -> f64 {
        match shape {
            // the sum of twelve uniform numbers
            "normal" => 1.0 + 0.03 * ((0..12).map(|_| rng.f64()).sum::<f64>() - 6.0),
            "skewed" => 1.0 - 0.1 * (rng.f64().max(1e-12).ln() + std::f64::consts::LN_2),
            _ => {
                if rng.bool() {
                    0.8 - 0.1 * rng.f64()
                } else {
                    1.2 + 0.1 * rng.f64()
                }
            }
        }
    }

    /// Prints the shares of false alarms: run it with `--nocapture` to see them.
    #[test]
    fn false_alarms_are_at_most_one_in_a_hundred_from_8_to_200_pairs() {
        const COMPARISONS: u32 = 2000;
        for shape in ["normal", "skewed", "bimodal"] {
            for pairs in [8, 10, 13, 20, 40, 100, 200] {
                let mut rng = Rng::with_seed(pairs as u64);
                let alarm = |_: &u32| {
                    let new: Vec<f64> = (0..pairs).map(|_| ratio(&mut rng, shape)).collect();
                    judge(&vec![1.0; pairs], &new).unwrap().verdict() != Verdict::CantTell
                };
                let alarms = (0..COMPARISONS).filter(alarm).count();
                println!("{shape}, {pairs} pairs: {:.2} %", 100.0 * alarms as f64 / f64::from(COMPARISONS));
                // 1 %, and three standard deviations of the count in this number of comparisons
                assert!(alarms <= 20 + 13, "{shape}, {pairs} pairs: {alarms} of {COMPARISONS}");
            }
        }
    }

    #[test]
    fn a_difference_of_five_percent_is_seen_in_a_hundred_pairs() {
        for seed in 0..20 {
            assert_eq!(simulated(seed, 100, 1.05).verdict(), Verdict::Slower);
            assert_eq!(simulated(seed, 100, 0.95).verdict(), Verdict::Faster);
        }
    }

    #[test]
    fn exchanging_the_sides_inverts_the_ratio_and_the_verdict() {
        let mut rng = Rng::with_seed(5);
        let old: Vec<f64> = (0..30).map(|_| 100.0 + rng.f64()).collect();
        let new: Vec<f64> = (0..30).map(|_| 110.0 + rng.f64()).collect();
        let resampled = |old: &[f64], new: &[f64]| paired(old, new, Bootstrap::default());
        for (forward, backward) in
            [(judge(&old, &new), judge(&new, &old)), (resampled(&old, &new), resampled(&new, &old))]
        {
            let (forward, backward) = (forward.unwrap(), backward.unwrap());
            assert!((forward.ratio * backward.ratio - 1.0).abs() < 1e-12);
            assert!((forward.interval.low * backward.interval.high - 1.0).abs() < 1e-9);
            assert!((forward.interval.high * backward.interval.low - 1.0).abs() < 1e-9);
            assert_eq!((forward.verdict(), backward.verdict()), (Verdict::Slower, Verdict::Faster));
        }
    }

    #[test]
    fn equal_values_are_cant_tell_and_exactly_one() {
        let same = judge(&[5.0; 50], &[5.0; 50]).unwrap();
        assert_eq!((same.ratio, same.interval.low, same.interval.high), (1.0, 1.0, 1.0));
        assert_eq!(same.verdict(), Verdict::CantTell);
    }

    #[test]
    fn few_pairs_give_a_verdict_only_if_all_are_far_apart() {
        let of = |pairs: usize, new: f64| judge(&vec![1.0; pairs], &vec![new; pairs]).unwrap().verdict();
        assert_eq!(
            [of(2, 200.0), of(3, 200.0), of(3, 0.005)],
            [Verdict::CantTell, Verdict::Slower, Verdict::Faster]
        );
        assert_eq!([of(7, 2.0), of(7, 0.5)], [Verdict::CantTell; 2]);
        assert_eq!([of(8, 2.0), of(8, 0.5)], [Verdict::Slower, Verdict::Faster]);
        let near = judge(&[1.0; 4], &[200.0, 200.0, 2.0, 200.0]).unwrap();
        assert_eq!(near.verdict(), Verdict::CantTell, "one of them may be noise");
    }

    #[test]
    fn what_has_no_ratio_is_not_compared() {
        let table: [(&[f64], &[f64]); 6] = [
            (&[], &[]),
            (&[1.0], &[]),
            (&[0.0], &[1.0]),
            (&[1.0], &[0.0]),
            (&[-1.0], &[-1.0]),
            (&[f64::NAN], &[1.0]),
        ];
        for (old, new) in table {
            assert_eq!(judge(old, new), None, "{old:?} {new:?}");
        }
    }

    /// Two invocations on a quiet machine: the same noise, no shared drift.
    fn unpaired(seed: u64, values: usize, factor: f64) -> Comparison {
        let mut rng = Rng::with_seed(seed);
        let old: Vec<f64> = (0..values).map(|_| durations(&mut rng, 1.0, 1.0)).collect();
        let new: Vec<f64> = (0..values + 3).map(|_| durations(&mut rng, 1.0, factor)).collect();
        judge_unpaired(&old, &new, seed).unwrap()
    }

    #[test]
    fn without_pairs_equal_programs_are_cant_tell_too_and_others_are_told_apart() {
        for values in [5, 8, 30, 100] {
            let alike = (0..200).filter(|seed| unpaired(*seed, values, 1.0).verdict() == Verdict::CantTell);
            assert!(alike.count() >= 190, "{values} values");
        }
        for seed in 0..20 {
            assert_eq!(unpaired(seed, 100, 1.05).verdict(), Verdict::Slower);
            assert_eq!(unpaired(seed, 100, 0.95).verdict(), Verdict::Faster);
        }
    }

    #[test]
    fn a_million_values_are_compared_too() {
        let mut rng = Rng::with_seed(6);
        let values: Vec<f64> = (0..1_000_000).map(|_| 1.0 + rng.f64()).collect();
        let slower: Vec<f64> = values.iter().map(|value| value * 1.02).collect();
        assert_eq!(judge_unpaired(&values, &slower, 1).unwrap().verdict(), Verdict::Slower);
    }

    /// Two invocations of the same program on a machine whose speed wanders: each run is about as slow as the previous
    /// one.
    fn drifting(seed: u64, values: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = Rng::with_seed(seed);
        let mut side = || -> Vec<f64> {
            let mut drift: f64 = 0.0;
            let mut next = || {
                drift = 0.95 * drift + 0.02 * (rng.f64() - 0.5);
                durations(&mut rng, drift.exp(), 1.0)
            };
            // the first hundred let the drift begin anywhere
            (0..values + 100).map(|_| next()).skip(100).collect()
        };
        (side(), side())
    }

    fn width(comparison: &Comparison) -> f64 {
        (comparison.interval.high / comparison.interval.low).ln()
    }

    /// The same values in a random order.
    fn drawn_one_by_one(old: &[f64], new: &[f64], seed: u64) -> Comparison {
        let mut shuffled = (old.to_vec(), new.to_vec());
        let mut rng = Rng::with_seed(seed);
        rng.shuffle(&mut shuffled.0);
        rng.shuffle(&mut shuffled.1);
        judge_unpaired(&shuffled.0, &shuffled.1, seed).unwrap()
    }

    #[test]
    fn drift_within_the_invocations_widens_the_interval_of_a_program_against_itself() {
        let (mut alarms, mut alarms_one_by_one) = (0, 0);
        for seed in 0..50 {
            let (old, new) = drifting(seed, 400);
            let in_order = judge_unpaired(&old, &new, seed).unwrap();
            let one_by_one = drawn_one_by_one(&old, &new, seed);
            assert!((in_order.ratio - one_by_one.ratio).abs() < 1e-12, "the median knows no order");
            alarms += usize::from(in_order.verdict() != Verdict::CantTell);
            alarms_one_by_one += usize::from(one_by_one.verdict() != Verdict::CantTell);
            assert!(width(&in_order) > 1.5 * width(&one_by_one), "{in_order:?} {one_by_one:?}");
        }
        // of fifty verdicts at 99 %
        assert!(alarms <= 2 && alarms_one_by_one >= 10, "{alarms}, and {alarms_one_by_one} one by one");
    }

    #[test]
    fn without_pairs_nothing_is_compared_that_has_no_ratio() {
        assert_eq!(judge_unpaired(&[], &[1.0], 0), None);
        assert_eq!(judge_unpaired(&[1.0], &[0.0], 0), None);
        assert_eq!(judge_unpaired(&[f64::NAN], &[1.0], 0), None);
        let point = judge_unpaired(&[2.0; 9], &[4.0; 12], 0).unwrap();
        assert!((point.ratio - 2.0).abs() < 1e-12 && point.pairs == 9);
    }

    #[test]
    fn the_longer_side_is_cut_to_the_pairs() {
        assert_eq!(judge(&[1.0; 9], &[2.0; 12]).unwrap().pairs, 9);
    }
}
