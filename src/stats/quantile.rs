//! Quantiles of a sorted sample.

/// The quantile `p` (0 to 1) of ascending `sorted`; `None` when it is empty.
///
/// Type 7 of R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American Statistician
/// 50 (1996): linear between the order statistics, the default of R, `NumPy` and Julia. `p` outside 0 to 1 is
/// taken as the nearer end.
///
/// ```
/// use firstbyte::stats::quantile;
/// assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), Some(1.75));
/// ```
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = floor_index(position).min(last);
    let above = (below + 1).min(last);
    let fraction = position - below as f64;
    // Equal neighbours are returned as they are: interpolating would add a rounding error.
    if sorted[below].total_cmp(&sorted[above]).is_eq() {
        return Some(sorted[below]);
    }
    Some(sorted[below] * (1.0 - fraction) + sorted[above] * fraction)
}

/// The median of ascending `sorted`; `None` when it is empty.
pub fn median(sorted: &[f64]) -> Option<f64> {
    quantile(sorted, 0.5)
}

/// The median of values in any order; `None` when there are none, or one is a NaN or infinite.
pub fn median_of(values: &[f64]) -> Option<f64> {
    median(&sorted(values)?)
}

/// The median of counts, or the smaller of two in the middle, so that it is a value that was counted. `None` without
/// counts.
pub fn median_count(mut counts: Vec<u64>) -> Option<u64> {
    counts.sort_unstable();
    counts.get(counts.len().saturating_sub(1) / 2).copied()
}

/// `values` in ascending order; `None` when there are none, or one is a NaN or infinite.
pub fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    Some(ascending)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 <= position < len
fn floor_index(position: f64) -> usize {
    position.floor() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_count_is_one_that_was_counted() {
        assert_eq!(median_count(vec![75, 50, 52, 51]), Some(51));
        assert_eq!(median_count(vec![3, 1, 2]), Some(2));
        assert_eq!(median_count(vec![]), None);
    }

    /// Expected values as R's `quantile(x, p, type = 7)` defines them.
    #[test]
    fn quantiles_interpolate_as_type_7_does() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let table: [(&[f64], f64, f64); 9] = [
            (&[1.0, 2.0, 3.0, 4.0], 0.25, 1.75),
            (&[1.0, 2.0, 3.0, 4.0], 0.5, 2.5),
            (&[1.0, 2.0, 3.0, 4.0, 5.0], 0.5, 3.0),
            (&[1.0, 2.0], 0.75, 1.75),
            (&ten, 0.0, 1.0),
            (&ten, 0.1, 1.9),
            (&ten, 0.5, 5.5),
            (&ten, 0.75, 7.75),
            (&ten, 1.0, 10.0),
        ];
        for (values, p, expected) in table {
            let found = quantile(values, p).unwrap();
            assert!((found - expected).abs() < 1e-12, "{values:?} at {p}: {found}, not {expected}");
        }
    }

    #[test]
    fn one_value_is_every_quantile_of_itself() {
        for p in [-1.0, 0.0, 0.5, 0.99, 1.0, 2.0] {
            assert_eq!(quantile(&[7.0], p), Some(7.0));
        }
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn sets_with_a_nan_or_an_infinity_are_not_sorted() {
        assert_eq!(sorted(&[1.0, f64::NAN]), None);
        assert_eq!(sorted(&[f64::INFINITY]), None);
        assert_eq!(sorted(&[]), None);
        assert_eq!(sorted(&[3.0, 1.0, 2.0]), Some(vec![1.0, 2.0, 3.0]));
    }
}
