//! What comes out: figures with their spread, and the document that holds them.

use super::batch::{Measured, Overhead};
use super::waterfall::Waterfall;
use crate::stats::{Bootstrap, Summary, quantile};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a figure is about; `--only` takes these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// System calls and clocks.
    Syscalls,
    /// Procedure call, threads, processes.
    Processes,
    /// Page faults, libraries, relocations.
    Faults,
    /// Shell builtins.
    Shells,
    /// The first and the hundredth print of each language.
    Prints,
    /// The layers between a shell and a raw system call.
    Waterfall,
}

impl Group {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Group; 6] =
        [Group::Syscalls, Group::Processes, Group::Faults, Group::Shells, Group::Prints, Group::Waterfall];

    /// The name that `--only` takes.
    pub fn name(self) -> &'static str {
        match self {
            Group::Syscalls => "syscalls",
            Group::Processes => "processes",
            Group::Faults => "faults",
            Group::Shells => "shells",
            Group::Prints => "prints",
            Group::Waterfall => "waterfall",
        }
    }
}

/// Above this relative spread a figure is noise as much as it is a figure.
pub const NOISY: f64 = 0.10;

/// The standard deviation of a normal distribution in MADs.
const STDDEV_PER_MAD: f64 = 1.482_602_218_505_602;

/// One figure: nanoseconds a call, over the batches of all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is about.
    pub group: Group,
    /// What was done.
    pub name: String,
    /// What lmbench calls it, where lmbench measures it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lmbench: Option<String>,
    /// What a reader must know to understand it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Calls a batch.
    pub calls: u32,
    /// Smallest batch, a call.
    pub min: f64,
    /// Median batch, a call.
    pub median: f64,
    /// 99th percentile of the batches, a call.
    pub p99: f64,
    /// Mean of the batches, a call.
    pub mean: f64,
    /// Relative spread: 1.4826 MAD / median (a robust coefficient of variation).
    pub spread: f64,
    /// The spread exceeds [`NOISY`].
    pub noisy: bool,
    /// Lower end of the median's 95 % bootstrap interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The single calls, where some were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<Single>,
    /// Every batch, a call, in the order of the rounds.
    pub samples: Vec<f64>,
}

/// Single calls, the timer's cost subtracted from each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Single {
    /// Fastest.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Slowest.
    pub max: f64,
    /// All of them.
    pub histogram: Histogram,
}

/// Counts in bins of equal width on a logarithmic scale, four bins to a doubling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The exponent of the first bin: bin `i` holds what lies from `2^((first + i) / 4)` ns up to the next.
    pub first: i32,
    /// How many values each bin holds; neither the first nor the last is empty.
    pub counts: Vec<u32>,
}

/// A figure that this machine does not give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What it is about.
    pub group: Group,
    /// What would have been done.
    pub name: String,
    /// Why not: one lower-case line.
    pub reason: String,
}

/// Everything that one invocation found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// `firstbyte/1`.
    pub schema: String,
    /// What measured.
    pub tool: crate::document::bench::Tool,
    /// Where.
    pub machine: Value,
    /// It was interrupted: not everything is in here.
    #[serde(default)]
    pub partial: bool,
    /// The processor that everything ran on; `null` for a sweep over them.
    pub cpu: Option<usize>,
    /// What the clock and the loop cost; subtracted from all figures.
    pub overhead: Overhead,
    /// The figures.
    pub results: Vec<Figure>,
    /// What could not be measured.
    pub missing: Vec<Missing>,
    /// The first and the hundredth print, a program each.
    #[serde(default)]
    pub prints: Vec<super::prints::Print>,
    /// The waterfalls: of this machine, then of the command that was given.
    pub waterfalls: Vec<Waterfall>,
    /// First byte against the number of processors, a program each.
    #[serde(default)]
    pub sweeps: Vec<super::cores::Sweep>,
    /// What is kept of this machine's costs for estimates, from this invocation and from earlier ones.
    #[serde(default)]
    pub calibration: Option<super::Calibration>,
}

impl Floor {
    /// Every figure: the results, and those of the prints.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let prints = self.prints.iter().flat_map(|print| {
            let outside = print.outside.iter().flat_map(|outside| [&outside.first, &outside.hundredth]);
            [&print.first, &print.hundredth].into_iter().chain(outside)
        });
        self.results.iter().chain(prints)
    }
}

impl Figure {
    /// From what was measured; `None` when not one round was.
    pub fn of(group: Group, name: &str, measured: &Measured) -> Option<Figure> {
        let mut figure = Figure::from_samples(group, name, measured.per_call.clone())?;
        figure.calls = measured.calls;
        figure.single = Single::of(&measured.singles);
        Some(figure)
    }

    /// From nanoseconds a call, one value a round.
    pub fn from_samples(group: Group, name: &str, samples: Vec<f64>) -> Option<Figure> {
        let summary = Summary::of(&samples)?;
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

    /// The same, called as lmbench calls it.
    #[must_use]
    pub fn lmbench(self, name: Option<&str>) -> Figure {
        Figure { lmbench: name.map(str::to_owned), ..self }
    }

    /// The same with a note.
    #[must_use]
    pub fn note(self, note: Option<&str>) -> Figure {
        Figure { note: note.map(str::to_owned), ..self }
    }
}

/// A spread without anything to compare it with is no spread.
fn relative(spread: f64, median: f64) -> f64 {
    if median.abs() > f64::EPSILON { spread / median.abs() } else { 0.0 }
}

impl Single {
    fn of(singles: &[f64]) -> Option<Single> {
        let summary = Summary::of(singles)?;
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
    /// Bins to a doubling.
    const BINS: f64 = 4.0;

    /// Counts `values` in nanoseconds; what lies below 1 ns is in the first bin of all, 0.
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

    /// Where bin `index` begins, in nanoseconds.
    pub fn lower_edge(&self, index: usize) -> f64 {
        let exponent = f64::from(self.first) + index as f64;
        (exponent / Histogram::BINS).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_holds_every_value_and_begins_and_ends_with_one() {
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
    fn a_figure_is_noisy_when_its_values_lie_apart() {
        let steady = Figure::from_samples(Group::Syscalls, "steady", vec![100.0; 9]).unwrap();
        assert!(!steady.noisy);
        let apart: Vec<f64> = (0..9).map(|i| 100.0 + 20.0 * f64::from(i)).collect();
        assert!(Figure::from_samples(Group::Syscalls, "apart", apart).unwrap().noisy);
        assert!(Figure::from_samples(Group::Syscalls, "none", vec![]).is_none());
    }

    #[test]
    fn around_zero_there_is_no_relative_spread() {
        assert!(!Figure::from_samples(Group::Syscalls, "empty", vec![0.0; 9]).unwrap().noisy);
    }
}
