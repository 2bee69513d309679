//! Confidence intervals by resampling.

use super::blocks::{self, InOrder};
use super::draws::resampled;
use super::quantile::{median, quantile, sorted};
use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies between the ends or on one of them.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// How to resample. The same settings and values give the same interval, on every machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// The number of resamples.
    pub resamples: u32,
    /// The part of the resampled medians that the interval contains, between 0 and 1.
    pub confidence: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// 1000 resamples, 95 %.
impl Default for Bootstrap {
    fn default() -> Bootstrap {
        Bootstrap { resamples: 1000, confidence: 0.95, seed: 0x5eed }
    }
}

impl Bootstrap {
    /// An interval of the difference of two medians, `new` minus `old`, whose values are not paired. Each side, in the order
    /// in which it was measured, is resampled separately, once value by value and once in blocks of neighbours
    /// ([`super::blocks`]). The interval contains the intervals of both, so drift within a side widens it and nothing
    /// makes it narrower. `None` when a side is empty or a value is not finite.
    pub fn difference_interval(&self, old: &[f64], new: &[f64]) -> Option<Interval> {
        let alone = self.difference_of_single_values(old, new)?;
        let in_blocks = self.difference_in_blocks(old, new)?;
        Some(Interval { low: alone.low.min(in_blocks.low), high: alone.high.max(in_blocks.high) })
    }

    fn difference_in_blocks(&self, old: &[f64], new: &[f64]) -> Option<Interval> {
        let center = median(&sorted(new)?)? - median(&sorted(old)?)?;
        let (mut old, mut new) = (InOrder::new(old)?, InOrder::new(new)?);
        let mut rng = Rng::with_seed(self.seed);
        let differences =
            (0..self.resamples.max(1)).map(|_| new.resampled(&mut rng) - old.resampled(&mut rng));
        let drawn = self.interval_of(differences.collect())?;
        let expanded = |end: f64| center + (end - center) * blocks::EXPANSION;
        Some(Interval { low: expanded(drawn.low), high: expanded(drawn.high) })
    }

    fn difference_of_single_values(&self, old: &[f64], new: &[f64]) -> Option<Interval> {
        let (old, new) = (sorted(old)?, sorted(new)?);
        let mut rng = Rng::with_seed(self.seed);
        let (mut old_drawn, mut new_drawn) = (vec![0; old.len()], vec![0; new.len()]);
        let differences = (0..self.resamples.max(1))
            .map(|_| resampled(&new, &mut new_drawn, &mut rng) - resampled(&old, &mut old_drawn, &mut rng));
        self.interval_of(differences.collect())
    }

    /// The percentile interval of the median of `values`; `None` when there are none or one is not finite.
    ///
    /// B. Efron, "Bootstrap Methods: Another Look at the Jackknife", The Annals of Statistics 7 (1979); the
    /// percentile interval is chapter 13 of Efron and Tibshirani, "An Introduction to the Bootstrap" (1993).
    /// Not the bias-corrected one (`BCa`): its acceleration comes from a jackknife, which is inconsistent for the median.
    /// One value gives an interval of width 0, which is meaningless, so check n as well.
    pub fn median_interval(&self, values: &[f64]) -> Option<Interval> {
        let ascending = sorted(values)?;
        let mut rng = Rng::with_seed(self.seed);
        let mut times_drawn = vec![0; ascending.len()];
        let medians =
            (0..self.resamples.max(1)).map(|_| resampled(&ascending, &mut times_drawn, &mut rng)).collect();
        self.interval_of(medians)
    }

    /// The interval that contains the middle part of the resampled values.
    fn interval_of(&self, mut resampled: Vec<f64>) -> Option<Interval> {
        resampled.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - self.confidence.clamp(0.0, 1.0)) / 2.0;
        Some(Interval { low: quantile(&resampled, tail)?, high: quantile(&resampled, 1.0 - tail)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::draws::MAX_DRAWN;

    #[test]
    fn the_same_seed_gives_the_same_interval_and_another_seed_may_not() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i * i)).collect();
        let first = Bootstrap::default().median_interval(&values);
        assert_eq!(first, Bootstrap::default().median_interval(&values));
        assert_ne!(first, Bootstrap { seed: 1, ..Bootstrap::default() }.median_interval(&values));
    }

    #[test]
    fn the_interval_holds_the_median_and_stays_within_the_values() {
        let mut rng = Rng::with_seed(7);
        for n in 1..40 {
            let mut values: Vec<f64> = (0..n).map(|_| rng.f64() * 1e6).collect();
            let interval = Bootstrap::default().median_interval(&values).unwrap();
            values.sort_unstable_by(f64::total_cmp);
            assert!(interval.contains(median(&values).unwrap()), "n = {n}: {interval:?}");
            assert!(interval.low >= values[0] && interval.high <= values[n - 1]);
        }
    }

    #[test]
    fn more_values_give_a_narrower_interval() {
        let mut rng = Rng::with_seed(3);
        let many: Vec<f64> = (0..1000).map(|_| rng.f64()).collect();
        let width = |values: &[f64]| {
            let interval = Bootstrap::default().median_interval(values).unwrap();
            interval.high - interval.low
        };
        assert!(width(&many) < width(&many[..30]));
    }

    /// One value more is resampled in another way, and gives nearly the same interval.
    #[test]
    fn many_values_are_resampled_as_fewer_are() {
        let mut rng = Rng::with_seed(9);
        let values: Vec<f64> = (0..=MAX_DRAWN).map(|_| rng.f64()).collect();
        let width = |n: usize| {
            let interval = Bootstrap::default().median_interval(&values[..n]).unwrap();
            assert!(interval.contains(0.5), "{interval:?}");
            interval.high - interval.low
        };
        let (drawn, at_once) = (width(MAX_DRAWN), width(MAX_DRAWN + 1));
        assert!((drawn / at_once - 1.0).abs() < 0.15, "{drawn} and {at_once}");
    }

    #[test]
    fn degenerate_sets_give_a_point_or_nothing() {
        let point = Bootstrap::default().median_interval(&[4.0]).unwrap();
        assert_eq!((point.low, point.high), (4.0, 4.0));
        let equal = Bootstrap::default().median_interval(&[0.1; 9]).unwrap();
        assert_eq!((equal.low, equal.high), (0.1, 0.1));
        assert_eq!(Bootstrap::default().median_interval(&[]), None);
        assert_eq!(Bootstrap::default().median_interval(&[1.0, f64::NAN]), None);
    }

    /// With n values the probability that the interval of the order statistics misses the true median is known. The
    /// bootstrap must be similar: at least 90 % of nominal 95 % intervals must contain it.
    #[test]
    fn nominal_95_percent_intervals_contain_the_true_median_about_that_often() {
        let mut rng = Rng::with_seed(11);
        let held = (0..200)
            .filter(|_| {
                let values: Vec<f64> = (0..40).map(|_| -rng.f64().max(1e-12).ln()).collect();
                Bootstrap::default().median_interval(&values).unwrap().contains(std::f64::consts::LN_2)
            })
            .count();
        assert!(held >= 180, "{held} of 200");
    }
}
