//! Decides how many runs are enough: until every median is precise, or the time is up.
//!
//! The decision is made between blocks of rounds that grow by half. It depends only on the width of the medians'
//! intervals, never on a verdict, because stopping as soon as a difference looks real would turn chance into a verdict.

use super::sample::{Sample, Series};
use crate::stats::{Bootstrap, median};
use firstbyte_measure::units::Nanos;
use std::time::Duration;

/// When to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Adaptive {
    /// The minimum number of runs of each program.
    pub least: u32,
    /// The maximum number of runs of each program.
    pub most: u32,
    /// Before this time precision is not enough. At most `time`.
    pub least_time: Duration,
    /// After this time no further round begins, if the minimum number of runs has been made.
    pub time: Duration,
    /// After this time no further round begins, however few runs have been made. `None`: the minimum is always made.
    pub limit: Option<Duration>,
    /// Enough precision: half the width of a median's interval, as a part of the median.
    pub precision: f64,
}

/// With more resamples the ends of the 95 % intervals move little, and here they only decide whether to continue.
const RESAMPLES: u32 = 400;

impl Adaptive {
    /// The rounds of each block: first the minimum, then half as many as have been made, up to the maximum.
    pub fn blocks(&self) -> Vec<u32> {
        let most = self.most.max(self.least);
        let mut blocks = vec![self.least];
        let mut sum = self.least;
        while sum < most {
            let next = (sum / 2).max(1).min(most - sum);
            blocks.push(next);
            sum += next;
        }
        blocks
    }

    /// Whether the medians of total and first byte are precise enough, for every program that has them.
    pub fn is_precise(&self, series: &[Series]) -> bool {
        series.iter().filter(|series| !series.samples.is_empty()).all(|series| {
            let precise = |of: fn(&Sample) -> Option<Nanos>| {
                let times: Option<Vec<f64>> =
                    series.samples.iter().map(|s| of(s).map(Nanos::as_f64)).collect();
                times.is_none_or(|times| half_width(times).is_some_and(|width| width <= self.precision))
            };
            precise(|sample| Some(sample.total)) && precise(|sample| sample.first_byte)
        })
    }
}

/// Half the width of the median's interval over the median.
fn half_width(mut times: Vec<f64>) -> Option<f64> {
    let interval = Bootstrap { resamples: RESAMPLES, ..Bootstrap::default() }.median_interval(&times)?;
    times.sort_unstable_by(f64::total_cmp);
    Some((interval.high - interval.low) / 2.0 / median(&times)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Adaptive = Adaptive {
        least: 10,
        most: 50,
        least_time: Duration::ZERO,
        time: Duration::from_secs(1),
        limit: None,
        precision: 0.01,
    };

    #[test]
    fn blocks_grow_by_half_and_end_at_the_most() {
        assert_eq!(PLAN.blocks(), [10, 5, 7, 11, 16, 1]);
        assert_eq!(Adaptive { most: 10, ..PLAN }.blocks(), [10]);
        assert_eq!(Adaptive { most: 3, ..PLAN }.blocks(), [10]);
        assert_eq!(Adaptive { least: 1, most: 4, ..PLAN }.blocks(), [1, 1, 1, 1]);
    }

    #[test]
    fn the_width_of_the_interval_decides() {
        let spread = |by: f64| (0..100).map(|n| 1000.0 + by * f64::from(n % 10)).collect();
        assert!(half_width(spread(0.1)).unwrap() < 0.001);
        assert!(half_width(spread(100.0)).unwrap() > 0.01);
        assert_eq!(half_width(vec![5.0; 10]), Some(0.0));
        assert_eq!(half_width(vec![]), None);
    }
}
