//! Every design into every sink for every number of lines, interleaved in a random order, so that drift affects all of
//! them equally.

use super::design::{Design, WC_ALONE};
use super::design_run::{RunError, time, verify};
use super::sink::{Sink, SinkFolders};
use fastrand::Rng;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::time::Duration;

/// What to measure.
#[derive(Debug)]
pub struct Sweep {
    pub counts: Vec<u64>,
    pub sinks: Vec<Sink>,
    pub designs: Vec<Design>,
    /// Runs of each design, sink and number of lines.
    pub runs: u32,
    /// No further runs of a series that has taken this long in total.
    pub enough: Duration,
    /// A run is killed after this time.
    pub limit: Duration,
    pub folders: SinkFolders,
    pub seed: u64,
}

/// One design's runs for one sink and number of lines.
#[derive(Clone, Debug)]
pub struct SweepCell {
    pub sink: Sink,
    /// An index into the designs.
    pub design: usize,
    /// The number of lines.
    pub count: u64,
    pub times: Vec<Nanos>,
}

/// A design that printed the wrong output or failed, so it was not timed, or not any longer.
#[derive(Clone, Debug)]
pub struct Wrong {
    pub sink: Sink,
    /// An index into the designs.
    pub design: usize,
    /// The number of lines.
    pub count: u64,
    /// One lower-case line.
    pub reason: String,
}

/// By design, verifying sink and number of lines. Several sinks share a verdict.
type Verdicts = BTreeMap<(usize, Sink, u64), Result<(), RunError>>;

#[derive(Clone, Debug, Default)]
pub struct Swept {
    pub cells: Vec<SweepCell>,
    pub wrong: Vec<Wrong>,
    pub interrupted: bool,
}

impl Sweep {
    /// The maximum number of runs, including those that verify.
    pub fn planned(&self) -> u64 {
        let series = (self.designs.len() * self.sinks.len() * self.counts.len()) as u64;
        series * (1 + u64::from(self.runs))
    }

    /// Runs everything. Calls `ran` with the number of runs that have ended or are left out.
    pub fn run(&self, ran: &mut dyn FnMut(u64)) -> Swept {
        let mut swept = Swept::default();
        let mut verdicts = Verdicts::new();
        let mut rng = Rng::with_seed(self.seed);
        let mut counts = self.counts.clone();
        counts.sort_unstable();
        for &sink in &self.sinks {
            let mut right = self.candidates(sink);
            for &count in &counts {
                ran((self.designs.len() - right.len()) as u64);
                right.retain(|&design| self.verified(sink, design, count, &mut verdicts, &mut swept, ran));
                let left_out = (self.designs.len() - right.len()) as u64;
                ran(left_out * u64::from(self.runs));
                self.series(sink, count, &right, &mut rng, &mut swept, ran);
            }
        }
        swept
    }

    fn candidates(&self, sink: Sink) -> Vec<usize> {
        let fits = |design: &usize| sink == Sink::Wc || self.designs[*design].name != WC_ALONE;
        (0..self.designs.len()).filter(fits).collect()
    }

    /// Whether the output for this number of lines is right. A design that is wrong once is not run with more lines.
    fn verified(
        &self,
        sink: Sink,
        design: usize,
        count: u64,
        verdicts: &mut Verdicts,
        swept: &mut Swept,
        ran: &mut dyn FnMut(u64),
    ) -> bool {
        ran(1);
        let what = &self.designs[design];
        if swept.interrupted || what.name == WC_ALONE {
            return !swept.interrupted;
        }

        let look = || verify(what, sink, count, &self.folders, self.limit);
        let verdict = verdicts.entry((design, sink.to_verify(), count)).or_insert_with(look);
        match verdict {
            Ok(()) => true,
            Err(error) => {
                swept.note(sink, design, count, error);
                false
            }
        }
    }

    fn series(
        &self,
        sink: Sink,
        count: u64,
        right: &[usize],
        rng: &mut Rng,
        swept: &mut Swept,
        ran: &mut dyn FnMut(u64),
    ) {
        let cell = |&design: &usize| SweepCell { sink, design, count, times: Vec::new() };
        let mut cells: Vec<SweepCell> = right.iter().map(cell).collect();
        let mut open: Vec<bool> = vec![true; cells.len()];

        for _ in 0..self.runs {
            let mut order: Vec<usize> = (0..cells.len()).collect();
            rng.shuffle(&mut order);
            for index in order {
                if open[index] && !swept.interrupted {
                    open[index] = self.once(&mut cells[index], swept);
                }
                ran(1);
            }
        }

        swept.cells.extend(cells.into_iter().filter(|cell| !cell.times.is_empty()));
    }

    /// Makes one run. Returns whether to make another.
    fn once(&self, cell: &mut SweepCell, swept: &mut Swept) -> bool {
        match time(&self.designs[cell.design], cell.sink, cell.count, &self.folders, self.limit) {
            Ok(elapsed) => {
                cell.times.push(elapsed);
                let taken: u64 = cell.times.iter().map(|time| time.0).sum();
                u128::from(taken) < self.enough.as_nanos()
            }
            Err(error) => {
                swept.note(cell.sink, cell.design, cell.count, &error);
                cell.times.clear(); // a design that fails sometimes has no time
                false
            }
        }
    }
}

impl Swept {
    fn note(&mut self, sink: Sink, design: usize, count: u64, error: &RunError) {
        if matches!(error, RunError::Interrupted) {
            self.interrupted = true;
            return;
        }
        self.wrong.push(Wrong { sink, design, count, reason: error.to_string() });
    }
}
