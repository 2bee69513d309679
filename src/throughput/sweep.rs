//! Every design, into every sink, for every number of lines: in turn, in a random order, so that drift hits all alike.

use super::design::{Design, WC_ALONE};
use super::run::{RunError, time, verify};
use super::sink::{Places, Sink};
use fastrand::Rng;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is to be measured.
#[derive(Debug)]
pub struct Sweep {
    /// The numbers of lines.
    pub counts: Vec<u64>,
    /// What they are printed to.
    pub sinks: Vec<Sink>,
    /// The ways to print them.
    pub designs: Vec<Design>,
    /// Runs of each design, sink and number.
    pub runs: u32,
    /// No further run of one of these that has taken so long in all.
    pub enough: Duration,
    /// A run is killed after this long.
    pub limit: Duration,
    /// Where files are made.
    pub places: Places,
    /// The seed of the order.
    pub seed: u64,
}

/// One design's runs for one sink and number of lines.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What was printed to.
    pub sink: Sink,
    /// An index into the designs.
    pub design: usize,
    /// The number of lines.
    pub count: u64,
    /// Every run's time.
    pub times: Vec<Nanos>,
}

/// A design that did not do what it should have, and was not timed there, or not any more.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// What was printed to.
    pub sink: Sink,
    /// An index into the designs.
    pub design: usize,
    /// The number of lines.
    pub count: u64,
    /// What was wrong: one lower-case line.
    pub reason: String,
}

/// By design, the sink that it was looked at through, and the number of lines: several sinks share a look.
type Verdicts = BTreeMap<(usize, Sink, u64), Result<(), RunError>>;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// The times.
    pub cells: Vec<Cell>,
    /// What went wrong.
    pub wrong: Vec<Wrong>,
    /// The user interrupted it.
    pub interrupted: bool,
}

impl Sweep {
    /// How many runs there are at most, those that verify included.
    pub fn planned(&self) -> u64 {
        let series = (self.designs.len() * self.sinks.len() * self.counts.len()) as u64;
        series * (1 + u64::from(self.runs))
    }

    /// Runs all; `ran` hears of every run's end, and of the runs that will not be made.
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

    /// Whether all bytes of this many lines are right: a design that is wrong once is not timed with more lines either.
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
        let look = || verify(what, sink, count, &self.places, self.limit);
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
        let cell = |&design: &usize| Cell { sink, design, count, times: Vec::new() };
        let mut cells: Vec<Cell> = right.iter().map(cell).collect();
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

    /// One run; whether there is to be another.
    fn once(&self, cell: &mut Cell, swept: &mut Swept) -> bool {
        match time(&self.designs[cell.design], cell.sink, cell.count, &self.places, self.limit) {
            Ok(elapsed) => {
                cell.times.push(elapsed);
                let taken: u64 = cell.times.iter().map(|time| time.0).sum();
                u128::from(taken) < self.enough.as_nanos()
            }
            Err(error) => {
                swept.note(cell.sink, cell.design, cell.count, &error);
                cell.times.clear(); // a design that fails now and then has no time
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
