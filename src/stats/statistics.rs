//! Statistics of one set of values.

use super::quantile::{median, quantile, sorted};

/// The statistics of a set of at least one finite value, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// The number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Half of the values lie at or below it.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Standard deviation of the sample, with n - 1 in the denominator (Bessel's correction); `None` when n = 1.
    pub stddev: Option<f64>,
    /// Median absolute deviation from the median, not scaled to the standard deviation of a normal
    /// distribution. 0 whenever more than half of the values are equal.
    pub mad: f64,
    /// 95 % of the values lie at or below it.
    pub p95: f64,
    /// 99 % of the values lie at or below it.
    pub p99: f64,
}

impl Statistics {
    /// Summarises `values`; `None` when there are none, one is not finite, or their sum is not.
    pub fn of(values: &[f64]) -> Option<Statistics> {
        let ascending = sorted(values)?;
        let mean = mean(&ascending)?;
        let median = median(&ascending)?;
        Some(Statistics {
            n: ascending.len(),
            mean,
            median,
            min: *ascending.first()?,
            max: *ascending.last()?,
            stddev: stddev(&ascending, mean),
            mad: mad(&ascending, median)?,
            p95: quantile(&ascending, 0.95)?,
            p99: quantile(&ascending, 0.99)?,
        })
    }
}

/// The mean of values in any order; `None` when there are none, or one is a NaN or infinite.
pub fn mean_of(values: &[f64]) -> Option<f64> {
    Statistics::of(values).map(|statistics| statistics.mean)
}

/// Median of the absolute distances from `center`.
pub(super) fn mad(values: &[f64], center: f64) -> Option<f64> {
    let distances: Vec<f64> = values.iter().map(|v| (v - center).abs()).collect();
    median(&sorted(&distances)?)
}

/// The mean, kept between minimum and maximum, because rounding may move the mean of equal values beyond them.
fn mean(ascending: &[f64]) -> Option<f64> {
    let mean = ascending.iter().sum::<f64>() / ascending.len() as f64;
    mean.is_finite().then(|| mean.clamp(ascending[0], ascending[ascending.len() - 1]))
}

fn stddev(values: &[f64], mean: f64) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|f| *f > 0)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / freedom as f64).sqrt()).filter(|s| s.is_finite())
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // equal to the last bit is what is asserted
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn a_known_set_has_its_known_statistics() {
        // Mean 5, sum of squares 32: the textbook set for both denominators.
        let summary = Statistics::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((summary.n, summary.min, summary.max), (8, 2.0, 9.0));
        close(summary.mean, 5.0);
        close(summary.median, 4.5);
        close(summary.stddev.unwrap(), (32.0_f64 / 7.0).sqrt());
        close(summary.mad, 0.5);
        close(summary.p95, 8.3);
        close(summary.p99, 8.86);
    }

    #[test]
    fn one_value_has_no_standard_deviation_and_no_spread() {
        let summary = Statistics::of(&[42.0]).unwrap();
        assert_eq!(summary.stddev, None);
        assert_eq!((summary.n, summary.mad), (1, 0.0));
        assert_eq!([summary.mean, summary.median, summary.min, summary.max, summary.p99], [42.0; 5]);
    }

    #[test]
    fn equal_values_have_standard_deviation_and_mad_zero() {
        let summary = Statistics::of(&[0.1; 7]).unwrap();
        assert_eq!((summary.stddev, summary.mad), (Some(0.0), 0.0));
        assert_eq!([summary.mean, summary.p95], [0.1; 2]);
    }

    #[test]
    fn a_majority_of_equal_values_has_mad_zero_but_a_standard_deviation() {
        let summary = Statistics::of(&[1.0, 1.0, 1.0, 9.0]).unwrap();
        close(summary.mad, 0.0);
        close(summary.stddev.unwrap(), 4.0);
    }

    #[test]
    fn what_has_no_finite_statistics_has_no_summary() {
        for values in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY], &[f64::MAX, f64::MAX]] {
            assert_eq!((Statistics::of(values), mean_of(values)), (None, None), "{values:?}");
        }
    }

    #[test]
    fn the_order_of_the_values_does_not_matter() {
        let forward: Vec<f64> = (0..101).map(f64::from).collect();
        let backward: Vec<f64> = forward.iter().rev().copied().collect();
        assert_eq!(Statistics::of(&forward), Statistics::of(&backward));
    }
}
