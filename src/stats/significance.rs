//! Many comparisons at once: how likely each difference is by chance, and which remain when all are taken together.

use super::order::below_or_at;

/// How likely it is that the pairs lie so unequally on both sides of 1 by chance: the sign test, two-sided. Pairs of equal
/// values say nothing. W. J. Conover, "Practical Nonparametric Statistics" (1999), section 3.4. `None` without pairs.
pub fn sign_test(old: &[f64], new: &[f64]) -> Option<f64> {
    let less = old.iter().zip(new).filter(|(old, new)| new < old).count();
    let more = old.iter().zip(new).filter(|(old, new)| new > old).count();
    let pairs = less + more;
    if old.is_empty() || new.is_empty() {
        return None;
    }
    Some((2.0 * below_or_at(pairs, less.min(more))).min(1.0))
}

/// Which of several differences are significant together: the probability that chance makes any of them so is at most
/// `level`. S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
pub fn holm(probabilities: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut significant = vec![false; probabilities.len()];
    for (rank, index) in order.into_iter().enumerate() {
        if probabilities[index] > level / (probabilities.len() - rank) as f64 {
            break;
        }
        significant[index] = true;
    }
    significant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_test_is_that_of_the_tables() {
        let of = |less: usize, more: usize| {
            let new: Vec<f64> = [vec![0.5; less], vec![1.5; more]].concat();
            sign_test(&vec![1.0; new.len()], &new).unwrap()
        };
        // R: binom.test(k, n)$p.value
        for (less, more, expected) in [
            (8, 0, 2.0 / 256.0),
            (0, 8, 2.0 / 256.0),
            (10, 2, 158.0 / 4096.0),
            (5, 5, 1.0),
            (60, 40, 0.056_887_9),
        ] {
            assert!((of(less, more) - expected).abs() < 1e-6, "{less} {more}: {}", of(less, more));
        }
        assert_eq!((sign_test(&[], &[]), sign_test(&[1.0], &[1.0])), (None, Some(1.0)));
    }

    #[test]
    fn holm_stops_at_the_first_that_chance_explains() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02
        let probabilities = [0.01, 0.04, 0.03, 0.005];
        assert_eq!(holm(&probabilities, 0.05), [true, false, false, true]);
        assert_eq!(holm(&probabilities, 0.06), [true; 4]);
        assert_eq!(holm(&probabilities, 0.01), [false; 4]);
        assert_eq!(holm(&[], 0.05), [false; 0]);
        assert_eq!(holm(&[0.01; 3], 0.05), [true; 3]);
    }

    #[test]
    fn twenty_programs_that_are_equal_have_no_false_alarm_in_ninety_five_of_a_hundred_families() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut family = || {
            let mut one = || {
                let new: Vec<f64> = (0..20).map(|_| 0.9 + 0.2 * rng.f64()).collect();
                sign_test(&[1.0; 20], &new).unwrap()
            };
            let probabilities: Vec<f64> = (0..20).map(|_| one()).collect();
            holm(&probabilities, 0.05).contains(&true)
        };
        let alarms = (0..400).filter(|_| family()).count();
        // 5 %, and three standard deviations of the count
        assert!(alarms <= 20 + 13, "{alarms} of 400");
    }
}
