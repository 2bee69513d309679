//! Resampling in blocks, for values that depend on those measured just before them.
//!
//! A machine's speed drifts, so neighbouring runs are fast or slow together. Drawing the runs one by one treats them as
//! independent, and the interval is then so narrow that drift alone moves the median out of it. Blocks of neighbours keep
//! the common part: H. R. Künsch, "The Jackknife and the Bootstrap for General Stationary Observations", The Annals
//! of Statistics 17 (1989). The series is treated as a circle, as in D. N. Politis and J. P. Romano, "A Circular
//! Block-Resampling Procedure for Stationary Data" (1992).

use super::draws::median_of_drawn;
use super::quantile::{median, sorted};
use fastrand::Rng;

/// The number of blocks that the values are drawn in. It is the smallest number that gives an interval, to allow for slow
/// drift. No resampling can show drift that is slower than an eighth of the series, or between two series.
const BLOCKS: usize = 8;

/// The factor by which the percentile interval of so few blocks is too narrow: the root of 8/7, times the 0.995 quantile
/// of Student's t with 7 degrees of freedom, 3.499, over that of the normal distribution, 2.576. This is the expanded
/// percentile interval of T. C. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69
/// (2015).
pub(super) const EXPANSION: f64 = 1.452;

/// The maximum number of values that are drawn.
const MAX_VALUES: usize = 10_000;

/// A series of values in the order in which they were measured.
#[derive(Debug)]
pub(super) struct InOrder {
    ascending: Vec<f64>,
    /// The index in `ascending` of each value.
    ranks: Vec<usize>,
    times_drawn: Vec<u32>,
    /// The correction of a resampled median if groups of values are replaced by their medians.
    offset: f64,
}

impl InOrder {
    /// `None` when there are no values or one is not finite.
    pub(super) fn new(values: &[f64]) -> Option<InOrder> {
        let center = median(&sorted(values)?)?;
        let grouped = grouped(values);
        let mut order: Vec<usize> = (0..grouped.len()).collect();
        order.sort_by(|a, b| grouped[*a].total_cmp(&grouped[*b]));
        let mut ranks = vec![0; grouped.len()];
        order.iter().enumerate().for_each(|(rank, &index)| ranks[index] = rank);
        let ascending: Vec<f64> = order.iter().map(|&index| grouped[index]).collect();
        let offset = center - median(&ascending)?;
        Some(InOrder { times_drawn: vec![0; ranks.len()], ascending, ranks, offset })
    }

    /// The median of a resample of the same size, drawn in blocks.
    pub(super) fn resampled(&mut self, rng: &mut Rng) -> f64 {
        let n = self.ranks.len();
        self.times_drawn.fill(0);
        let mut left = n;
        while left > 0 {
            let (first, length) = (rng.usize(..n), n.div_ceil(BLOCKS).min(left));
            (first..first + length).for_each(|index| self.times_drawn[self.ranks[index % n]] += 1);
            left -= length;
        }
        median_of_drawn(&self.ascending, &self.times_drawn) + self.offset
    }
}

/// At most [`MAX_VALUES`] values that drift as `values` do. If there are more values, these are the medians of groups of
/// neighbours. They scatter no less than the values that they replace.
fn grouped(values: &[f64]) -> Vec<f64> {
    let groups = values.chunks(values.len().div_ceil(MAX_VALUES).max(1));
    groups.filter_map(|group| median(&sorted(group)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medians(values: &[f64], count: usize) -> Vec<f64> {
        let (mut series, mut rng) = (InOrder::new(values).unwrap(), Rng::with_seed(1));
        (0..count).map(|_| series.resampled(&mut rng)).collect()
    }

    #[test]
    fn what_belongs_together_is_drawn_together() {
        // eight levels, each as long as a block: a resample contains whole stretches, so its median is near a level
        let values: Vec<f64> = (0..80).map(|n| f64::from(n / 10)).collect();
        let all = medians(&values, 200);
        assert!(all.iter().any(|median| *median <= 2.0) && all.iter().any(|median| *median >= 5.0));
    }

    #[test]
    fn one_value_and_equal_values_are_drawn_as_they_are() {
        assert_eq!(medians(&[4.0], 3), [4.0; 3]);
        assert_eq!(medians(&[0.5; 9], 3), [0.5; 3]);
        assert!(InOrder::new(&[]).is_none() && InOrder::new(&[f64::NAN]).is_none());
    }

    #[test]
    fn more_values_than_are_drawn_keep_their_median_and_their_drift() {
        let values: Vec<f64> = (0..=3 * MAX_VALUES).map(|n| n as f64).collect();
        assert!(grouped(&values).len() <= MAX_VALUES);
        let all = medians(&values, 50);
        assert!(all.iter().all(|median| (0.0..3.0 * MAX_VALUES as f64).contains(median)));
        assert!(all.iter().any(|median| *median < 1.4 * MAX_VALUES as f64), "{all:?}");
        assert!(all.iter().any(|median| *median > 1.6 * MAX_VALUES as f64), "{all:?}");
    }
}
