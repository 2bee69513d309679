//! What is to be tuned, and how.

use super::outcome::Comparing;
use crate::analysis::profile::By;
use crate::analysis::runs::Along;
use crate::bench::hook::Hook;
use crate::bench::{Progress, RunPlan};
use crate::document::bench::Metric;
use crate::tracing::{Beside, TracePlan, TraceProgress};
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::tracer::event::WantedContents;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct TunePlan {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The words of the command that compiles it, with `-o FILE`; empty: it is not known.
    pub build: Vec<String>,
    /// The names of the only ways; empty: all.
    pub only: Vec<String>,
    pub skip: Vec<String>,
    /// Let everything be used together.
    pub all: bool,
    /// The time that is to be shorter; `None`: the first byte, or the total of a command that has none.
    pub by: Option<Metric>,
    /// The page cache is cold before each run.
    pub cold: bool,
    /// The time for everything.
    pub budget: Duration,
    /// Where what the ways write is kept.
    pub keep: Option<PathBuf>,
    pub comparing: Comparing,
    /// Ask nothing.
    pub yes: bool,
    /// A shell command before each run.
    pub prepare: Option<Hook>,
    /// How each run is made.
    pub each_run: RunPlan,
    pub backend: BackendChoice,
    /// Seed of the random order of runs.
    pub seed: u64,
}

impl TunePlan {
    /// How the traced runs are made. `quick`: one is enough.
    pub(super) fn tracing(&self, quick: bool) -> TracePlan {
        let is_whole = self.each_run.until.is_none() && self.prepare.is_none();
        TracePlan {
            count: Some(if quick { 1 } else { 3 }),
            quick: false,
            overhead: false,
            beside: Beside { reports: is_whole, ..Beside::default() },
            along: Along::CriticalPath,
            by: By::default(),
            mark: None,
            backend: self.backend,
            contents: WantedContents::default(),
            each_run: self.each_run.clone(),
            cold: None,
            ring: None,
            seed: self.seed,
        }
    }
}

/// Receives the progress, and answers the one question. Code that measures prints nothing itself.
pub trait TuneProgress: TraceProgress {
    /// This many ways will be tried, within this time.
    fn trying(&mut self, ways: usize, budget: Duration);
    /// Timed runs begin. They end when the result is dropped.
    fn measuring(&mut self) -> Box<dyn Progress>;
    /// Whether a command is to be run often although these reasons speak against it.
    fn agrees(&mut self, reasons: &str) -> bool;
}

/// The time for everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    began: Instant,
    whole: Duration,
}

/// Why a way is not tried when the time is up.
pub(super) const NO_TIME: &str = "no time is left (--budget)";

impl Budget {
    pub(super) fn begin(whole: Duration) -> Budget {
        Budget { began: Instant::now(), whole }
    }

    pub(super) fn spent(self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn left(self) -> Duration {
        self.whole.saturating_sub(self.spent())
    }
}

/// How many programs can be run so often within a time, if one run takes `each`.
pub(super) fn fitting(time: Duration, each: Duration, runs: u32) -> usize {
    let programs = time.as_nanos() / (each.as_nanos() * u128::from(runs)).max(1);
    usize::try_from(programs).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_into_a_time_is_rounded_down() {
        let ms = Duration::from_millis;
        assert_eq!(fitting(ms(1000), ms(10), 7), 14);
        assert_eq!(fitting(ms(69), ms(10), 7), 0);
        assert!(fitting(ms(1), Duration::ZERO, 7) > 1000);
        assert_eq!(Budget::begin(Duration::ZERO).left(), Duration::ZERO);
    }
}
