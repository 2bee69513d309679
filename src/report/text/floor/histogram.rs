//! Histograms of single calls, as bars of characters.

use crate::document::floor::{Figure, Histogram};
use crate::output::visible;
use crate::report::text::floor::figure::duration;
use crate::report::text::terminal::Terminal;
use std::fmt::Write;

/// Characters of eight heights.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The first `width` bins as one character each. The others are added to the last one: a few slow calls do not flatten the
/// rest.
pub(crate) fn spark(histogram: &Histogram, width: usize) -> String {
    let mut bins: Vec<u32> = histogram.counts.iter().take(width).copied().collect();
    if let Some(last) = bins.last_mut() {
        *last += histogram.counts.iter().skip(width).sum::<u32>();
    }
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    let level = |count: u32| match count {
        0 => ' ',
        // a bin that is not empty is visible
        _ => LEVELS[(count as usize * (LEVELS.len() - 1)).div_ceil(most as usize).min(LEVELS.len() - 1)],
    };
    bins.into_iter().map(level).collect()
}

/// A line for each bin that is not empty.
pub(crate) fn render(figures: &[&Figure], terminal: &Terminal) -> String {
    figures.iter().filter_map(|figure| one(figure, terminal)).collect::<Vec<_>>().join("\n")
}

fn one(figure: &Figure, terminal: &Terminal) -> Option<String> {
    let histogram = &figure.single.as_ref()?.histogram;
    let all = histogram.counts.iter().sum::<u32>();
    let most = histogram.counts.iter().copied().max()?.max(1);
    let room = terminal.width.saturating_sub(32).clamp(8, 60);
    let title = visible(&format!("{}, {all} single calls", figure.name));
    let mut text = terminal.bold(&terminal.wrap(&title, 2)) + "\n";
    for (index, count) in histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let bar = "█".repeat((*count as usize * room).div_ceil(most as usize));
        let from = duration(histogram.lower_edge(index));
        let share = f64::from(*count) / f64::from(all.max(1)) * 100.0;
        let _ = writeln!(text, "  from {from:>8} {count:>7} {share:>5.1} % {bar}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_with_one_call_is_visible_beside_a_full_one() {
        let histogram = Histogram { first: 0, counts: vec![1000, 0, 1] };
        assert_eq!(spark(&histogram, 10), "█ ▂");
        assert_eq!(spark(&histogram, 1), "█");
        assert_eq!(spark(&Histogram { first: 0, counts: vec![] }, 10), "");
    }
}
