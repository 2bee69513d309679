//! Values of which only the number in each bucket is kept. The widths of the buckets grow with the values, so a quantile has
//! the same relative error everywhere (as in `HdrHistogram`, G. Tene).

use std::collections::BTreeMap;

/// Each power of two is divided into `2^SUB_BITS` buckets. A bucket is at most 1/32 as wide as its values, so its middle is
/// at most 1/64 (1.6 %) away from any of them.
const SUB_BITS: u32 = 5;

/// How many values lie in each bucket. The number of values, their sum, the smallest and the largest are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHistogram {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    /// The number of values by bucket.
    buckets: BTreeMap<u32, u64>,
}

impl LogHistogram {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        *self.buckets.entry(bucket(value)).or_default() += 1;
    }

    /// Adds all values of another histogram.
    pub fn absorb(&mut self, other: &LogHistogram) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest value; `None` without values.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value; `None` without values.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The value of rank ⌈p · count⌉, within 1.6 %; `None` without values. `p` outside 0 to 1 is taken as the nearer end.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= rank <= count")]
    pub fn quantile(&self, p: f64) -> Option<u64> {
        let rank = ((p.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        bucket.map(|(bucket, _)| middle(*bucket).clamp(self.min, self.max))
    }

    /// The smallest value that belongs to each bucket with values, and their number, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.buckets.iter().map(|(bucket, count)| (lowest(*bucket), *count))
    }
}

/// The number of the bucket of a value. Values below `2^SUB_BITS` have buckets of their own.
fn bucket(value: u64) -> u32 {
    let exponent = value.max(1).ilog2();
    let shift = exponent.saturating_sub(SUB_BITS);
    // The leading bit and the SUB_BITS after it, so it fits.
    let leading = u32::try_from(value >> shift).unwrap_or(u32::MAX);
    (shift << SUB_BITS) + leading
}

/// The smallest value of a bucket. From the second power of two on, `leading` has its highest bit set.
fn lowest(bucket: u32) -> u64 {
    let shift = (bucket >> SUB_BITS).saturating_sub(1);
    u64::from(bucket - (shift << SUB_BITS)) << shift
}

/// The middle of the bucket to which a value belongs.
pub fn middle_of(value: u64) -> u64 {
    middle(bucket(value))
}

fn middle(bucket: u32) -> u64 {
    let width = 1_u64 << (bucket >> SUB_BITS).saturating_sub(1);
    lowest(bucket) + (width - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> LogHistogram {
        let mut histogram = LogHistogram::default();
        for value in values {
            histogram.add(value);
        }
        histogram
    }

    #[test]
    fn every_value_lies_in_its_bucket_and_near_its_middle() {
        let values = (0..2000).chain((11..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        for value in values.chain([u64::MAX]) {
            let number = bucket(value);
            assert!(lowest(number) <= value, "{value}");
            assert!(
                value == u64::MAX || bucket(value + 1) == number || lowest(bucket(value + 1)) == value + 1
            );
            assert_eq!(middle_of(lowest(number)), middle(number));
            assert!(middle(number).abs_diff(value) <= value / 64, "{value}: {}", middle(number));
        }
    }

    #[test]
    fn buckets_ascend_with_their_values() {
        let all: Vec<u32> = (0..100_000).map(bucket).collect();
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[1] - pair[0] <= 1));
        assert_eq!(bucket(31), 31);
    }

    #[test]
    fn counts_and_sums_are_exact_and_quantiles_close() {
        let histogram = of((1..=1000).map(|n| n * 1000));
        assert_eq!((histogram.count(), histogram.sum()), (1000, 500_500_000));
        assert_eq!((histogram.min(), histogram.max()), (Some(1000), Some(1_000_000)));
        for (p, exact) in [(0.0, 1000_u64), (0.5, 500_000), (0.95, 950_000), (1.0, 1_000_000)] {
            let found = histogram.quantile(p).unwrap();
            assert!(found.abs_diff(exact) <= exact / 64, "{p}: {found}");
        }
        assert_eq!(histogram.buckets().map(|(_, count)| count).sum::<u64>(), 1000);
    }

    #[test]
    fn absorbing_gives_the_histogram_of_all_values() {
        let mut both = of([7, 900]);
        both.absorb(&of([1, 50_000, 900]));
        both.absorb(&of([]));
        assert_eq!(both, of([7, 900, 1, 50_000, 900]));
        let mut empty = of([]);
        empty.absorb(&of([3]));
        assert_eq!(empty, of([3]));
    }

    #[test]
    fn one_value_is_every_quantile_and_nothing_has_none() {
        let one = of([123_456_789]);
        assert_eq!([0.0, 0.5, 1.0].map(|p| one.quantile(p)), [Some(123_456_789); 3]);
        let none = of([]);
        assert_eq!((none.quantile(0.5), none.min(), none.max(), none.sum()), (None, None, None, 0));
    }
}
