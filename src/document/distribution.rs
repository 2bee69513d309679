//! What the document says of many durations of one kind.

use crate::stats::{Bootstrap, Summary};
use firstbyte_measure::timeline::Phases;
use serde::{Deserialize, Serialize};

/// The phases, their partial sum and their sum, each over all samples that have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseTimes {
    /// Entry of the first `execve` to its return in the new image.
    pub startup: Option<Distribution>,
    /// From there to the entry of the first write of output; `null` when nothing was printed.
    pub setup: Option<Distribution>,
    /// That write; `null` when nothing was printed.
    pub write: Option<Distribution>,
    /// From there to the exit.
    pub teardown: Option<Distribution>,
    /// startup + setup + write; with the pipe backend, from the launch until the byte arrived.
    pub first_byte: Option<Distribution>,
    /// All four; with the pipe backend, from the launch until reaped.
    pub total: Option<Distribution>,
}

impl PhaseTimes {
    /// Collects each phase of the samples' `phases` (`first_byte` and `total` are recorded beside them).
    pub(crate) fn of(phases: &[Phases]) -> PhaseTimes {
        let each = |phase: &dyn Fn(&Phases) -> Option<u64>| {
            Distribution::of(phases.iter().filter_map(phase).collect())
        };
        PhaseTimes {
            startup: each(&|p| Some(p.startup.0)),
            setup: each(&|p| p.setup.map(|n| n.0)),
            write: each(&|p| p.write.map(|n| n.0)),
            teardown: each(&|p| Some(p.teardown.0)),
            first_byte: None,
            total: None,
        }
    }
}

/// Durations of one phase in nanoseconds: the samples and their statistics. On reading, the statistics are
/// computed from the samples again, so that a file cannot contradict itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Samples")]
pub struct Distribution {
    /// Median.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation (n - 1); `null` for one sample.
    pub stddev: Option<f64>,
    /// Median absolute deviation.
    pub mad: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Lower end of the 95 % bootstrap interval of the median.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Every sample, in the order of the runs.
    pub samples: Vec<u64>,
}

impl Distribution {
    /// The statistics of `samples` in nanoseconds; `None` when there are none.
    pub fn of(samples: Vec<u64>) -> Option<Distribution> {
        let values: Vec<f64> = samples.iter().map(|ns| *ns as f64).collect();
        let Summary { median, mean, min, max, stddev, mad, p95, p99, .. } = Summary::of(&values)?;
        let interval = Bootstrap::default().median_interval(&values)?;
        let (low, high) = (interval.low, interval.high);
        Some(Distribution { median, mean, min, max, stddev, mad, p95, p99, low, high, samples })
    }
}

/// What of a [`Distribution`] is believed on reading.
#[derive(Deserialize)]
struct Samples {
    samples: Vec<u64>,
}

impl TryFrom<Samples> for Distribution {
    type Error = &'static str;
    fn try_from(read: Samples) -> Result<Distribution, &'static str> {
        Distribution::of(read.samples).ok_or("`samples` is empty")
    }
}
