//! Figures with their spread.

use super::Group;
use crate::stats::{Bootstrap, Statistics, quantile};
use serde::{Deserialize, Serialize};

/// A figure is noisy if its relative spread is larger than this.
pub const NOISY: f64 = 0.10;

/// The standard deviation of a normal distribution in MADs.
const STDDEV_PER_MAD: f64 = 1.482_602_218_505_602;

/// Nanoseconds per call, over the batches of all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub group: Group,
    /// The operation that was timed.
    pub name: String,
    /// lmbench's name for it, if lmbench measures it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lmbench: Option<String>,
    /// Explains how to read the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Calls per batch.
    pub calls: u32,
    /// The smallest batch, per call.
    pub min: f64,
    /// The median batch, per call.
    pub median: f64,
    /// 99th percentile of the batches, per call.
    pub p99: f64,
    /// Mean of the batches, per call.
    pub mean: f64,
    /// Relative spread: 1.4826 MAD / median (a robust coefficient of variation).
    pub spread: f64,
    /// The spread is larger than [`NOISY`].
    pub noisy: bool,
    /// Lower end of the median's 95 % bootstrap interval.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// Single calls, if some were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<Single>,
    /// Every batch, per call, in the order of the rounds.
    pub samples: Vec<f64>,
}

/// Single calls, less the cost of the timer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Single {
    pub min: f64,
    pub median: f64,
    pub p99: f64,
    pub max: f64,
    pub histogram: Histogram,
}

/// Counts in bins of equal width on a logarithmic scale, four bins per doubling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The exponent of the first bin: bin `i` counts the values from `2^((first + i) / 4)` ns up to the next bin.
    pub first: i32,
    /// The number of values in each bin. Neither the first nor the last is zero.
    pub counts: Vec<u32>,
}

impl Figure {
    /// From nanoseconds per call, one value per round; `None` without samples.
    pub fn from_samples(group: Group, name: &str, samples: Vec<f64>) -> Option<Figure> {
        let summary = Statistics::of(&samples)?;
        let interval = Bootstrap::default().median_interval(&samples)?;
        let spread = relative(STDDEV_PER_MAD * summary.mad, summary.median);

        Some(Figure {
            group,
            name: name.to_owned(),
            lmbench: None,
            note: None,
            calls: 1,
            min: summary.min,
            median: summary.median,
            p99: summary.p99,
            mean: summary.mean,
            spread,
            noisy: spread > NOISY,
            low: interval.low,
            high: interval.high,
            single: None,
            samples,
        })
    }

    #[must_use]
    pub fn lmbench(self, name: Option<&str>) -> Figure {
        Figure { lmbench: name.map(str::to_owned), ..self }
    }

    #[must_use]
    pub fn note(self, note: Option<&str>) -> Figure {
        Figure { note: note.map(str::to_owned), ..self }
    }
}

/// Around zero there is nothing to relate a spread to.
fn relative(spread: f64, median: f64) -> f64 {
    if median.abs() > f64::EPSILON { spread / median.abs() } else { 0.0 }
}

impl Single {
    /// `None` without samples.
    pub(crate) fn of(singles: &[f64]) -> Option<Single> {
        let summary = Statistics::of(singles)?;
        let mut ascending = singles.to_vec();
        ascending.sort_unstable_by(f64::total_cmp);

        Some(Single {
            min: summary.min,
            median: summary.median,
            p99: quantile(&ascending, 0.99)?,
            max: summary.max,
            histogram: Histogram::of(singles),
        })
    }
}

impl Histogram {
    /// Bins per doubling.
    const BINS: f64 = 4.0;

    /// Counts `values` in nanoseconds. Values below 1 ns are counted in bin 0.
    pub fn of(values: &[f64]) -> Histogram {
        let bins: Vec<i32> = values.iter().map(|value| Histogram::bin(*value)).collect();
        let (first, last) =
            (bins.iter().min().copied().unwrap_or(0), bins.iter().max().copied().unwrap_or(-1));
        let length = usize::try_from(last - first + 1).unwrap_or(0);

        let mut counts = vec![0; length];
        for bin in bins {
            counts[usize::try_from(bin - first).unwrap_or(0)] += 1;
        }

        Histogram { first, counts }
    }

    #[allow(clippy::cast_possible_truncation)] // the logarithm of a finite duration is small
    fn bin(value: f64) -> i32 {
        (value.max(1.0).log2() * Histogram::BINS).floor() as i32
    }

    /// The lower edge of bin `index`, in nanoseconds.
    pub fn lower_edge(&self, index: usize) -> f64 {
        let exponent = f64::from(self.first) + index as f64;
        (exponent / Histogram::BINS).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_every_value_and_has_no_empty_bin_at_its_ends() {
        let values = [0.0, 1.0, 100.0, 101.0, 5000.0];
        let histogram = Histogram::of(&values);
        assert_eq!(histogram.counts.iter().sum::<u32>(), 5);
        assert!(histogram.counts.first() > Some(&0) && histogram.counts.last() > Some(&0));
        assert!(histogram.lower_edge(0) <= 1.0);
        assert!(histogram.lower_edge(histogram.counts.len() - 1) <= 5000.0);
        assert!(histogram.lower_edge(histogram.counts.len()) > 5000.0);
        assert!(Histogram::of(&[]).counts.is_empty());
    }

    #[test]
    fn a_figure_is_noisy_if_its_values_are_far_apart() {
        let steady = Figure::from_samples(Group::Syscalls, "steady", vec![100.0; 9]).unwrap();
        assert!(!steady.noisy);
        let apart: Vec<f64> = (0..9).map(|i| 100.0 + 20.0 * f64::from(i)).collect();
        assert!(Figure::from_samples(Group::Syscalls, "apart", apart).unwrap().noisy);
        assert!(Figure::from_samples(Group::Syscalls, "none", vec![]).is_none());
    }

    #[test]
    fn a_figure_around_zero_has_no_relative_spread() {
        assert!(!Figure::from_samples(Group::Syscalls, "empty", vec![0.0; 9]).unwrap().noisy);
    }
}
