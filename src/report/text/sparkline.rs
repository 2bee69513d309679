//! How durations are distributed: a histogram in one line.

const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Fewer samples have no shape.
pub(crate) const MIN_SAMPLES: usize = 8;

/// How many of the samples are in each of `width` equal parts of a range, as the height of a character. A part without
/// samples is blank.
pub(crate) fn sparkline(samples: &[f64], range: [f64; 2], width: usize) -> String {
    let mut counts = vec![0_usize; width.max(1)];
    for sample in samples {
        if let Some(count) = place(*sample, range, counts.len()).and_then(|place| counts.get_mut(place)) {
            *count += 1;
        }
    }

    let most = counts.iter().copied().max().unwrap_or(0);
    let height = |count: usize| (count * HEIGHTS.len()).div_ceil(most.max(1)).checked_sub(1);
    counts.iter().map(|count| height(*count).map_or(' ', |height| HEIGHTS[height])).collect()
}

/// The part in which a sample is; `None` outside of the range.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the number of parts")]
fn place(sample: f64, [from, to]: [f64; 2], parts: usize) -> Option<usize> {
    if !(from..=to).contains(&sample) {
        return None;
    }
    let share = if to > from { (sample - from) / (to - from) } else { 0.0 };
    Some(((share * parts as f64) as usize).min(parts - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_with_a_sample_is_visible_and_the_fullest_is_the_highest() {
        let mut samples = vec![1.0; 100];
        samples.extend([4.0; 50]);
        samples.extend([9.9, 10.0, 11.0, f64::NAN]);
        assert_eq!(sparkline(&samples, [1.0, 10.0], 10), "█  ▄     ▁");
    }

    #[test]
    fn equal_samples_and_none_are_drawn_too() {
        assert_eq!(sparkline(&[5.0; 3], [5.0, 5.0], 3), "█  ");
        assert_eq!(sparkline(&[], [0.0, 1.0], 2), "  ");
    }
}
