//! Every design into every sink for every number of lines, interleaved in a random order, so that drift affects all of
//! them equally.

use super::design::{Design, WC_ALONE};
use super::design_run::{Printed, RunError, time, verify};
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
    /// What it prints then.
    pub printed: Printed,
    pub times: Vec<Nanos>,
}

/// A design that printed the wrong output or failed.
#[derive(Clone, Debug)]
pub struct Wrong {
    pub sink: Sink,
    /// An index into the designs.
    pub design: usize,
    /// The number of lines.
    pub count: u64,
    /// It was timed nevertheless, against its own bytes.
    pub timed: bool,
    /// One lower-case line.
    pub reason: String,
}

/// By design, verifying sink and number of lines. Several sinks share a verdict.
type Verdicts = BTreeMap<(usize, Sink, u64), Result<Printed, RunError>>;

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
            let mut candidates = self.candidates(sink);
            for &count in &counts {
                ran((self.designs.len() - candidates.len()) as u64);
                let verified = candidates.iter().filter_map(|&design| {
                    let printed = self.verified(sink, design, count, &mut verdicts, &mut swept, ran)?;
                    Some(SweepCell { sink, design, count, printed, times: Vec::new() })
                });
                let cells: Vec<SweepCell> = verified.collect();
                candidates = cells.iter().map(|cell| cell.design).collect();
                let left_out = (self.designs.len() - cells.len()) as u64;
                ran(left_out * u64::from(self.runs));
                self.series(cells, &mut rng, &mut swept, ran);
            }
        }
        swept
    }

    fn candidates(&self, sink: Sink) -> Vec<usize> {
        let fits = |design: &usize| sink == Sink::Wc || self.designs[*design].name != WC_ALONE;
        (0..self.designs.len()).filter(fits).collect()
    }

    /// What it prints for this number of lines; `None` if that does not count. Such a design is not run with more lines.
    fn verified(
        &self,
        sink: Sink,
        design: usize,
        count: u64,
        verdicts: &mut Verdicts,
        swept: &mut Swept,
        ran: &mut dyn FnMut(u64),
    ) -> Option<Printed> {
        ran(1);
        let what = &self.designs[design];
        if swept.interrupted || what.name == WC_ALONE {
            return (!swept.interrupted).then(|| Printed::wanted(count));
        }

        let look = || verify(what, sink, count, &self.folders, self.limit);
        let verdict = verdicts.entry((design, sink.to_verify(), count)).or_insert_with(look);
        match verdict {
            Ok(printed) => {
                if let Some(reason) = printed.remark(count) {
                    swept.wrong.push(Wrong { sink, design, count, timed: true, reason });
                }
                Some(*printed)
            }
            Err(error) => {
                swept.note(sink, design, count, error);
                None
            }
        }
    }

    fn series(&self, mut cells: Vec<SweepCell>, rng: &mut Rng, swept: &mut Swept, ran: &mut dyn FnMut(u64)) {
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
        let design = &self.designs[cell.design];
        match time(design, cell.sink, cell.count, cell.printed, &self.folders, self.limit) {
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
        let same = |wrong: &&mut Wrong| (wrong.sink, wrong.design, wrong.count) == (sink, design, count);
        let known = self.wrong.iter_mut().find(same);
        match known {
            Some(wrong) => wrong.timed = false, // it prints other bytes each time, or fails sometimes
            None => self.wrong.push(Wrong { sink, design, count, timed: false, reason: error.to_string() }),
        }
    }
}
