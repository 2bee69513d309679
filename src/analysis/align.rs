//! Pairs the steps of two runs.

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The best match of this many steps, of both runs together, is found in about a second, however different they are. It does not
/// depend on how busy the machine is.
const EXACT: usize = 20_000;

/// How long the alignment of more steps looks for the best match before it takes a good one.
const SEARCH_TIMEOUT: Duration = Duration::from_millis(400);

/// A step that both runs have, or only one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// The index of the step in the first run, and in the second.
    Both(usize, usize),
    First(usize),
    Second(usize),
}

/// Pairs equal keys and keeps the order of both runs. Each index of each run appears exactly once.
pub fn align(first: &[String], second: &[String]) -> Vec<Pair> {
    let mut numbers = HashMap::new();
    let (old, new) = (numbered(first, &mut numbers), numbered(second, &mut numbers));
    let deadline = deadline(old.len() + new.len());
    let operations = capture_diff_slices_deadline(Algorithm::Patience, &old, &new, deadline);
    operations.iter().flat_map(pairs).collect()
}

fn deadline(steps: usize) -> Option<Instant> {
    (steps > EXACT).then(|| Instant::now() + SEARCH_TIMEOUT)
}

/// Comparing numbers is cheaper than comparing texts.
fn numbered<'k>(keys: &'k [String], numbers: &mut HashMap<&'k str, usize>) -> Vec<usize> {
    let mut number = |key: &'k String| {
        let next = numbers.len();
        *numbers.entry(key.as_str()).or_insert(next)
    };
    keys.iter().map(&mut number).collect()
}

fn pairs(operation: &DiffOp) -> Vec<Pair> {
    match *operation {
        DiffOp::Equal { old_index, new_index, len } => {
            (0..len).map(|n| Pair::Both(old_index + n, new_index + n)).collect()
        }
        DiffOp::Delete { old_index, old_len, .. } => {
            (old_index..old_index + old_len).map(Pair::First).collect()
        }
        DiffOp::Insert { new_index, new_len, .. } => {
            (new_index..new_index + new_len).map(Pair::Second).collect()
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            let first = (old_index..old_index + old_len).map(Pair::First);
            first.chain((new_index..new_index + new_len).map(Pair::Second)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[test]
    fn only_long_runs_are_aligned_against_the_clock() {
        assert_eq!(deadline(EXACT), None);
        assert!(deadline(EXACT + 1).is_some());
    }

    /// The same steps in two orders, which nearly never match.
    #[test]
    fn runs_without_a_similarity_are_aligned_too() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 24) % 8).to_string()
        };
        let [first, second]: [Vec<String>; 2] = std::array::from_fn(|_| (0..500).map(|_| next()).collect());
        let aligned = align(&first, &second);
        let both = aligned.iter().filter(|pair| matches!(pair, Pair::Both(..))).count();
        assert_eq!(aligned.len() + both, 1000, "{both}");
        assert!(both > 0 && align(&first, &second) == aligned);
    }

    #[test]
    fn steps_of_both_runs_are_paired_and_the_others_stay_alone() {
        use Pair::{Both, First, Second};
        let aligned = align(&keys("abxd"), &keys("aybd"));
        assert_eq!(aligned, [Both(0, 0), Second(1), Both(1, 2), First(2), Both(3, 3)]);
        assert_eq!(align(&[], &keys("a")), [Second(0)]);
        assert!(align(&[], &[]).is_empty());
    }

    #[test]
    fn every_index_of_any_two_runs_appears_once_and_in_order() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..300 {
            let mut run =
                || -> Vec<String> { (0..random.usize(0..40)).map(|_| random.u8(0..6).to_string()).collect() };
            let (first, second) = (run(), run());

            let aligned = align(&first, &second);
            let of_first: Vec<usize> = aligned
                .iter()
                .filter_map(|pair| match pair {
                    Pair::Both(i, _) | Pair::First(i) => Some(*i),
                    Pair::Second(_) => None,
                })
                .collect();
            let of_second: Vec<usize> = aligned
                .iter()
                .filter_map(|pair| match pair {
                    Pair::Both(_, i) | Pair::Second(i) => Some(*i),
                    Pair::First(_) => None,
                })
                .collect();

            assert_eq!(of_first, (0..first.len()).collect::<Vec<_>>());
            assert_eq!(of_second, (0..second.len()).collect::<Vec<_>>());
            for pair in aligned {
                if let Pair::Both(a, b) = pair {
                    assert_eq!(first[a], second[b]);
                }
            }
        }
    }
}
