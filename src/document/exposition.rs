//! What a fleet's monitoring reads of a watch: counts of a bounded number of programs, with few buckets.

use super::watch::{WatchProgram, WatchTimes};
use crate::stats::log_histogram;
use firstbyte_measure::timeline::marks::{MOST_NAMES, OTHERS};
use std::collections::BTreeMap;

/// The label of all programs without one of their own.
pub const OTHER: &str = "other";

/// The upper bounds of the buckets, in nanoseconds. Each costs a series for each program.
pub const STARTUP_BOUNDS: &[u64] = &[250_000, 500_000, 1_000_000, 2_500_000, 10_000_000, 100_000_000];
pub const FIRST_OUTPUT_BOUNDS: &[u64] =
    &[1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 100_000_000, 1_000_000_000];
pub const LIFETIME_BOUNDS: &[u64] =
    &[1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000];

pub const MARK_BOUNDS: &[u64] = &[100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The counts so far. They only grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposition {
    pub version: &'static str,
    /// Which processes are watched.
    pub scope: String,
    /// By label, in alphabetical order; [`OTHER`] is always there, and last.
    pub programs: Vec<(String, ProgramFigures)>,
    pub lost_events: u64,
    /// How often the text file could not be written.
    pub unwritten: u64,
}

/// What is counted for one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFigures {
    pub execs: u64,
    pub failed: u64,
    pub cpu_ns: u64,
    pub startup: Buckets,
    pub first_output: Buckets,
    pub lifetime: Buckets,
    /// The parts that end with a mark, by its name: at most [`MOST_NAMES`], and [`OTHERS`].
    pub marks: BTreeMap<String, Buckets>,
}

impl Default for ProgramFigures {
    fn default() -> ProgramFigures {
        ProgramFigures {
            execs: 0,
            failed: 0,
            cpu_ns: 0,
            startup: Buckets::empty(STARTUP_BOUNDS),
            first_output: Buckets::empty(FIRST_OUTPUT_BOUNDS),
            lifetime: Buckets::empty(LIFETIME_BOUNDS),
            marks: BTreeMap::new(),
        }
    }
}

impl ProgramFigures {
    pub fn of(program: &WatchProgram) -> ProgramFigures {
        ProgramFigures {
            execs: program.execs,
            failed: program.failed,
            cpu_ns: program.cpu_ns,
            startup: Buckets::of(program.startup_ns.as_ref(), STARTUP_BOUNDS),
            first_output: Buckets::of(program.first_output_ns.as_ref(), FIRST_OUTPUT_BOUNDS),
            lifetime: Buckets::of(program.lifetime_ns.as_ref(), LIFETIME_BOUNDS),
            marks: program
                .marks
                .iter()
                .map(|(name, times)| (name.clone(), Buckets::of(Some(times), MARK_BOUNDS)))
                .collect(),
        }
    }

    /// Adds what has happened between two moments.
    pub fn add_growth(&mut self, before: &ProgramFigures, now: &ProgramFigures) {
        self.execs += now.execs.saturating_sub(before.execs);
        self.failed += now.failed.saturating_sub(before.failed);
        self.cpu_ns += now.cpu_ns.saturating_sub(before.cpu_ns);
        self.startup.add_growth(&before.startup, &now.startup);
        self.first_output.add_growth(&before.first_output, &now.first_output);
        self.lifetime.add_growth(&before.lifetime, &now.lifetime);
        let nothing = Buckets::empty(MARK_BOUNDS);
        for (name, times) in &now.marks {
            self.mark(name).add_growth(before.marks.get(name).unwrap_or(&nothing), times);
        }
    }

    /// Programs with the same name share a label, and so the number of its marks.
    fn mark(&mut self, name: &str) -> &mut Buckets {
        let most = MOST_NAMES + usize::from(self.marks.contains_key(OTHERS));
        let is_listed = name == OTHERS || self.marks.contains_key(name) || self.marks.len() < most;
        let name = if is_listed { name } else { OTHERS };
        self.marks.entry(name.to_owned()).or_insert_with(|| Buckets::empty(MARK_BOUNDS))
    }
}

/// A histogram with fixed bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets {
    pub bounds: &'static [u64],
    /// How many values each bucket has. The last bucket has no bound.
    pub counts: Vec<u64>,
    pub sum: u64,
}

impl Buckets {
    fn empty(bounds: &'static [u64]) -> Buckets {
        Buckets { bounds, counts: vec![0; bounds.len() + 1], sum: 0 }
    }

    /// The buckets of a watch are at most 1/32 wide, and one that contains a bound belongs to the side with its middle. So
    /// only values within 1.6 % of a bound can be on its other side.
    fn of(times: Option<&WatchTimes>, bounds: &'static [u64]) -> Buckets {
        let mut buckets = Buckets::empty(bounds);
        let Some(times) = times else { return buckets };
        for (lowest, count) in &times.histogram {
            let middle = log_histogram::middle_of(*lowest);
            buckets.counts[bounds.partition_point(|bound| *bound < middle)] += count;
        }
        buckets.sum = times.sum;
        buckets
    }

    fn add_growth(&mut self, before: &Buckets, now: &Buckets) {
        let growth = now.counts.iter().zip(&before.counts).map(|(now, before)| now.saturating_sub(*before));
        for (count, growth) in self.counts.iter_mut().zip(growth) {
            *count += growth;
        }
        self.sum += now.sum.saturating_sub(before.sum);
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::LogHistogram;

    fn buckets(values: &[u64], bounds: &'static [u64]) -> Buckets {
        let mut histogram = LogHistogram::default();
        for value in values {
            histogram.add(*value);
        }
        Buckets::of(WatchTimes::of(&histogram).as_ref(), bounds)
    }

    #[test]
    fn every_value_is_counted_once_and_the_sum_is_exact() {
        let values = [0, 1, 249_000, 260_000, 990_000_000, 99_000_000, 101_000_000];
        let found = buckets(&values, STARTUP_BOUNDS);
        assert_eq!(found.counts, [3, 1, 0, 0, 0, 1, 2]);
        assert_eq!((found.count(), found.sum), (7, values.iter().sum()));
        assert_eq!(buckets(&[], STARTUP_BOUNDS), Buckets::empty(STARTUP_BOUNDS));
    }

    #[test]
    fn a_value_that_is_not_near_a_bound_is_on_its_own_side() {
        for bounds in [STARTUP_BOUNDS, FIRST_OUTPUT_BOUNDS, LIFETIME_BOUNDS] {
            for (index, bound) in bounds.iter().enumerate() {
                let (below, above) = (bound - bound / 50, bound + bound / 50);
                assert_eq!(buckets(&[below], bounds).counts[index], 1, "{below}");
                assert_eq!(buckets(&[above], bounds).counts[index + 1], 1, "{above}");
            }
        }
    }

    #[test]
    fn growth_is_added_to_what_was_there() {
        let mut figures = ProgramFigures { execs: 100, ..ProgramFigures::default() };
        let before = ProgramFigures { execs: 3, startup: buckets(&[5], STARTUP_BOUNDS), ..figures.clone() };
        let now = ProgramFigures { execs: 5, startup: buckets(&[5, 6], STARTUP_BOUNDS), ..before.clone() };
        figures.add_growth(&before, &now);
        assert_eq!((figures.execs, figures.startup.count(), figures.startup.sum), (102, 1, 6));
    }
}
