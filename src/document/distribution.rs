//! Many durations of one kind.

use crate::stats::{Bootstrap, Statistics};
use firstbyte_measure::timeline::{PerPhase, Phase, Phases};
use serde::{Deserialize, Serialize};

/// The phases, the time to the first byte and the total, each over all samples that have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// `null` for a phase that a program without output does not have.
    #[serde(flatten)]
    pub each: PerPhase<Option<Distribution>>,
    /// All phases up to the first byte; with the pipe backend, from the launch until the byte arrived.
    #[serde(default)]
    pub first_byte: Option<Distribution>,
    /// All phases; with the pipe backend, from the launch until reaped.
    #[serde(default)]
    pub total: Option<Distribution>,
}

impl PhaseTimes {
    /// The phases of these samples; their `first_byte` and `total` are recorded separately.
    pub(crate) fn of(phases: &[Phases]) -> PhaseTimes {
        let samples = |phase| phases.iter().filter_map(|phases| Some(phases.get(phase)?.0)).collect();
        PhaseTimes {
            each: PerPhase::from_fn(|phase| Distribution::of(samples(phase))),
            first_byte: None,
            total: None,
        }
    }

    pub fn get(&self, phase: Phase) -> Option<&Distribution> {
        self.each[phase].as_ref()
    }

    /// The backend saw the phases.
    pub fn are_known(&self) -> bool {
        self.get(Phase::Startup).is_some()
    }

    /// The median of each phase, 0 for a phase that the program does not have; `None` if the backend saw none.
    pub(crate) fn medians(&self) -> Option<PerPhase<f64>> {
        let median = |phase| self.get(phase).map_or(0.0, |distribution| distribution.median);
        self.are_known().then(|| PerPhase::from_fn(median))
    }

    /// Every duration by its name in the document, the most important ones first.
    pub(crate) fn named(&self) -> Vec<(&'static str, Option<&Distribution>)> {
        let sums = [("first_byte", self.first_byte.as_ref()), ("total", self.total.as_ref())];
        sums.into_iter().chain(Phase::ALL.map(|phase| (phase.name(), self.get(phase)))).collect()
    }
}

/// Durations of one phase in nanoseconds: the samples and their statistics. The reader computes the statistics from the
/// samples again, so a file cannot contradict itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Samples")]
pub struct Distribution {
    pub median: f64,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// Standard deviation (n - 1); `null` for one sample.
    pub stddev: Option<f64>,
    /// Median absolute deviation.
    pub mad: f64,
    pub p95: f64,
    pub p99: f64,
    /// Lower end of the 95 % bootstrap interval of the median.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Every sample, in the order of the runs.
    pub samples: Vec<u64>,
}

impl Distribution {
    /// `None` without samples.
    pub fn of(samples: Vec<u64>) -> Option<Distribution> {
        let values: Vec<f64> = samples.iter().map(|ns| *ns as f64).collect();
        let Statistics { median, mean, min, max, stddev, mad, p95, p99, .. } = Statistics::of(&values)?;
        let interval = Bootstrap::default().median_interval(&values)?;
        let (low, high) = (interval.low, interval.high);
        Some(Distribution { median, mean, min, max, stddev, mad, p95, p99, low, high, samples })
    }
}

/// What is read of a [`Distribution`].
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
