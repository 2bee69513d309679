//! Values that stand apart from the rest.

use super::quantile::{median, sorted};
use super::statistics::mad;

/// 0.75 quantile of the standard normal distribution: what the MAD of a normal sample is in standard deviations.
const MAD_OF_NORMAL: f64 = 0.674_489_750_196_081_7;

/// `sqrt(pi / 2)`: standard deviation over mean absolute deviation of a normal sample.
const STDDEV_OVER_MEAN_DEVIATION: f64 = 1.253_314_137_315_500_3;

/// The modified Z-score of each value, in the order given; `None` when there are none or one is not finite.
///
/// `0.6745 (x - median) / MAD`: B. Iglewicz and D. Hoaglin, "How to Detect and Handle Outliers" (ASQC, 1993).
/// Where the MAD is 0, the mean absolute deviation takes its place, scaled likewise; where that is 0 too, all
/// values are equal and every score is 0.
pub fn modified_z_scores(values: &[f64]) -> Option<Vec<f64>> {
    let center = median(&sorted(values)?)?;
    let scale = scale(values, center)?;
    let score = |v: &f64| if scale > 0.0 { (v - center) / scale } else { 0.0 };
    Some(values.iter().map(score).collect())
}

/// An estimate of the standard deviation that outliers do not inflate.
fn scale(values: &[f64], center: f64) -> Option<f64> {
    let mad = mad(values, center)?;
    if mad > 0.0 {
        return Some(mad / MAD_OF_NORMAL);
    }
    let mean_deviation = values.iter().map(|v| (v - center).abs()).sum::<f64>() / values.len() as f64;
    Some(mean_deviation * STDDEV_OVER_MEAN_DEVIATION).filter(|s| s.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Above this absolute score a value counts as an outlier: the recommendation of Iglewicz and Hoaglin.
    const LIMIT: f64 = 3.5;

    /// The indices of the outliers: `|modified Z-score| >` [`LIMIT`].
    fn outliers(values: &[f64]) -> Vec<usize> {
        let scores = modified_z_scores(values).unwrap_or_default();
        scores.iter().enumerate().filter(|(_, z)| z.abs() > LIMIT).map(|(index, _)| index).collect()
    }

    #[test]
    fn the_value_that_stands_apart_is_found() {
        assert_eq!(outliers(&[10.0, 11.0, 9.0, 10.5, 9.5, 100.0]), [5]);
        assert_eq!(outliers(&[10.0, 11.0, 9.0, 10.5, 9.5, -100.0, 10.0]), [5]);
    }

    #[test]
    fn scores_are_distances_from_the_median_in_scaled_mads() {
        let scores = modified_z_scores(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let expected = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|d| d * MAD_OF_NORMAL);
        for (found, expected) in scores.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn equal_values_hold_no_outlier() {
        assert_eq!(modified_z_scores(&[5.0; 4]), Some(vec![0.0; 4]));
        assert!(outliers(&[5.0; 4]).is_empty());
        assert!(outliers(&[5.0]).is_empty());
        assert!(outliers(&[]).is_empty());
    }

    #[test]
    fn with_a_mad_of_zero_the_mean_deviation_finds_the_outlier() {
        let mut values = [1.0; 20];
        values[7] = 50.0;
        assert_eq!(outliers(&values), [7]);
    }
}
