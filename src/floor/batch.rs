//! Batches and rounds: how everything in this room is timed.
//!
//! Reading the clock costs about as much as the calls that are to be timed, and the clock advances in steps. So a call
//! is repeated in a loop between two readings, often enough that neither matters. The cost of the two readings and of
//! the empty loop is measured by the same code, in the same rounds, and subtracted. Each round times every
//! microbenchmark once, in random order: drift affects all of them equally, and the results of one round can be
//! compared in pairs.
//!
//! The method is that of lmbench (L. `McVoy` and C. Staelin, "lmbench: Portable Tools for Performance Analysis", USENIX
//! 1996: `t_overhead` and `l_overhead`). The shuffled rounds are ours.

use super::{FloorError, clock_resolution};
use crate::document::floor::{BatchOverhead, Figure, Group, Single};
use crate::stats::Statistics;
use firstbyte_measure::clock::now;
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::units::Nanos;
use std::hint::black_box;

/// Something that can be repeated.
pub trait Operation {
    /// Untimed, before each batch.
    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Performs the operation `times` times in a row. The error says what one of them did instead.
    fn repeat(&mut self, times: u32) -> Result<(), String>;

    /// Untimed, after each batch: undoes [`Operation::prepare`].
    fn settle(&mut self) {}

    /// How often a batch is tried until one does what it should.
    fn tries(&self) -> u32 {
        1
    }
}

/// An operation with its name, and how it may be repeated.
pub struct Microbenchmark {
    /// The name of its figure.
    pub name: String,
    /// The largest batch that measures the same as a small one. A pipe, for example, is full at some point.
    pub most: u32,
    /// Time single calls too, for a histogram. Useless for an operation that is long enough to be a batch of one.
    pub singles: bool,
    /// Calls per turn of its loop.
    pub unrolled: u32,
    operation: Box<dyn Operation>,
}

/// The number of rounds and the length of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundPlan {
    /// Measured rounds. One warm-up round comes first.
    pub rounds: u32,
    /// Minimum duration of a batch.
    pub batch: Nanos,
    /// Single calls to time, over all rounds.
    pub singles: u32,
    /// Seed of the random order.
    pub seed: u64,
}

/// The times of one microbenchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchTimes {
    /// Calls per batch.
    pub calls: u32,
    /// Nanoseconds per call, less the overhead, one value per round. The values of one round form pairs.
    pub per_call: Vec<f64>,
    /// Nanoseconds of single calls, less the timer's cost.
    pub singles: Vec<f64>,
}

/// The times of one microbenchmark, or why it has none.
pub type BatchResult = Result<BatchTimes, String>;

impl BatchTimes {
    /// `None` if no round was measured.
    pub fn figure(&self, group: Group, name: &str) -> Option<Figure> {
        let mut figure = Figure::from_samples(group, name, self.per_call.clone())?;
        figure.calls = self.calls;
        figure.single = Single::of(&self.singles);
        Some(figure)
    }
}

impl Microbenchmark {
    /// One whose batches may have any length.
    pub fn new(name: impl Into<String>, operation: impl Operation + 'static) -> Microbenchmark {
        Microbenchmark {
            name: name.into(),
            most: 1 << 20,
            singles: false,
            unrolled: 1,
            operation: Box::new(operation),
        }
    }

    /// A single call that must return `true`.
    pub fn call(name: impl Into<String>, call: impl FnMut() -> bool + 'static) -> Microbenchmark {
        Microbenchmark { singles: true, ..Microbenchmark::new(name, Call(call)) }
    }

    /// Limits the calls per batch.
    #[must_use]
    pub fn at_most(self, most: u32) -> Microbenchmark {
        Microbenchmark { most, ..self }
    }

    /// Sets the calls per turn of its loop.
    #[must_use]
    pub fn unrolled(self, calls: u32) -> Microbenchmark {
        Microbenchmark { unrolled: calls, ..self }
    }

    /// Times single calls too.
    #[must_use]
    pub fn with_singles(self) -> Microbenchmark {
        Microbenchmark { singles: true, ..self }
    }
}

/// A closure, repeated in a loop that is compiled for it alone.
struct Call<F>(F);

impl<F: FnMut() -> bool> Operation for Call<F> {
    fn repeat(&mut self, times: u32) -> Result<(), String> {
        let mut right = true;
        for _ in 0..times {
            right &= black_box((self.0)());
        }
        if right { Ok(()) } else { Err(format!("a call failed: {}", std::io::Error::last_os_error())) }
    }
}

/// Runs all rounds. A microbenchmark that fails is not run again; the others continue.
pub fn measure(
    benchmarks: &mut [Microbenchmark],
    rounds: &RoundPlan,
) -> Result<(Vec<BatchResult>, BatchOverhead), FloorError> {
    let mut session = Session::new(benchmarks, rounds);
    for round in 0..=rounds.rounds {
        session.round(round > 0)?;
    }
    Ok(session.finish())
}

/// One microbenchmark while it is measured.
struct Course<'s> {
    benchmark: &'s mut Microbenchmark,
    calls: u32,
    batches: Vec<Nanos>,
    singles: Vec<Nanos>,
    failure: Option<String>,
}

struct Session<'s> {
    courses: Vec<Course<'s>>,
    empty: Call<fn() -> bool>,
    /// Readings with nothing between them. The even ones give the timer's cost, the odd ones check it.
    timer: Vec<Nanos>,
    turns: Vec<Nanos>,
    singles_a_round: u32,
    order: fastrand::Rng,
}

/// Turns of the empty loop: as many as in a batch of a cheap call.
const TURNS: u32 = 10_000;

/// Empty regions to time per round.
const EMPTY: u32 = 32;

impl<'s> Session<'s> {
    fn new(benchmarks: &'s mut [Microbenchmark], rounds: &RoundPlan) -> Session<'s> {
        let courses = benchmarks.iter_mut().map(|benchmark| Course::new(benchmark, rounds.batch)).collect();
        Session {
            courses,
            empty: Call(|| true),
            timer: Vec::new(),
            turns: Vec::new(),
            singles_a_round: rounds.singles.div_ceil(rounds.rounds.max(1)),
            order: fastrand::Rng::with_seed(rounds.seed),
        }
    }

    fn round(&mut self, counts: bool) -> Result<(), FloorError> {
        let mut order: Vec<usize> = (0..=self.courses.len()).collect();
        self.order.shuffle(&mut order);
        for index in order {
            if interrupt::interrupted().is_some() {
                return Err(FloorError::Interrupted);
            }
            match self.courses.get_mut(index) {
                Some(course) => course.run(counts, self.singles_a_round),
                None => self.overhead(counts),
            }
        }
        Ok(())
    }

    fn overhead(&mut self, counts: bool) {
        let readings = (0..EMPTY).map(|_| timed(&mut self.empty, 0)).collect::<Vec<_>>();
        let turns = timed(&mut self.empty, TURNS);
        if counts {
            self.timer.extend(readings.into_iter().filter_map(Result::ok));
            self.turns.extend(turns);
        }
    }

    fn finish(self) -> (Vec<BatchResult>, BatchOverhead) {
        let even: Vec<f64> = self.timer.iter().step_by(2).map(|t| t.as_f64()).collect();
        let odd: Vec<f64> = self.timer.iter().skip(1).step_by(2).map(|t| t.as_f64()).collect();
        let turns: Vec<f64> = self.turns.iter().map(|t| t.as_f64()).collect();

        let timer = middle(&even);
        let overhead = BatchOverhead {
            timer,
            turn: ((middle(&turns) - timer) / f64::from(TURNS)).max(0.0),
            step: clock_resolution::step(),
            empty: middle(&odd) - timer,
        };

        (self.courses.into_iter().map(|course| course.finish(&overhead)).collect(), overhead)
    }
}

fn middle(values: &[f64]) -> f64 {
    Statistics::of(values).map_or(0.0, |summary| summary.median)
}

impl<'s> Course<'s> {
    fn new(benchmark: &'s mut Microbenchmark, batch: Nanos) -> Course<'s> {
        let sized = size(benchmark, batch);
        let (calls, failure) = match sized {
            Ok(calls) => (calls, None),
            Err(failure) => (1, Some(failure)),
        };
        Course { benchmark, calls, batches: Vec::new(), singles: Vec::new(), failure }
    }

    fn run(&mut self, counts: bool, singles: u32) {
        if self.failure.is_none() {
            self.failure = self.try_run(counts, singles).err();
        }
    }

    fn try_run(&mut self, counts: bool, singles: u32) -> Result<(), String> {
        self.warm_up()?;
        let calls = self.calls;
        let batch =
            interrupt::without_stops(|| prepared(self.benchmark, |operation| timed(operation, calls)))?;
        if counts {
            self.batches.push(batch);
        }
        if counts && self.benchmark.singles {
            let singles = singles.min(self.benchmark.most);
            let each =
                |one: &mut dyn Operation| (0..singles).map(|_| timed(one, 1)).collect::<Result<Vec<_>, _>>();
            self.singles.extend(interrupt::without_stops(|| prepared(self.benchmark, each))?);
        }
        Ok(())
    }

    /// A few untimed calls. The previous microbenchmark has filled the caches with its own code, and a batch of two
    /// processes would pay for that. An operation that is timed call by call may be meant to find the caches cold.
    fn warm_up(&mut self) -> Result<(), String> {
        if self.calls == 1 {
            return Ok(());
        }
        let calls = self.calls.div_ceil(8).max(2);
        prepared(self.benchmark, |operation| operation.repeat(calls))
    }

    fn finish(self, overhead: &BatchOverhead) -> BatchResult {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let calls = f64::from(self.calls);
        let turn = overhead.turn / f64::from(self.benchmark.unrolled);
        let per_call = |batch: &Nanos| (batch.as_f64() - overhead.timer) / calls - turn;
        let single = |single: &Nanos| single.as_f64() - overhead.timer;
        Ok(BatchTimes {
            calls: self.calls,
            per_call: self.batches.iter().map(per_call).collect(),
            singles: self.singles.iter().map(single).collect(),
        })
    }
}

/// Prepares the operation, does `work` with it, and settles it; again if that fails, as often as it may be tried.
fn prepared<T>(
    benchmark: &mut Microbenchmark,
    work: impl Fn(&mut dyn Operation) -> Result<T, String>,
) -> Result<T, String> {
    let operation = benchmark.operation.as_mut();
    let tries = operation.tries();
    let mut once = || {
        let done = operation.prepare().and_then(|()| work(operation));
        operation.settle();
        done
    };
    (1..tries).fold(once(), |done, _| done.or_else(|_| once()))
}

/// Times a batch between two readings of the clock.
fn timed(operation: &mut dyn Operation, calls: u32) -> Result<Nanos, String> {
    let start = now();
    let done = operation.repeat(calls);
    let end = now();
    done.map(|()| Nanos(end.0.saturating_sub(start.0)))
}

/// The number of calls that take at least `batch`: doubled until they do.
fn size(benchmark: &mut Microbenchmark, batch: Nanos) -> Result<u32, String> {
    let mut calls = 1;
    loop {
        let mut took = Nanos(u64::MAX);
        // Twice, because the first run touches its code and pages for the first time.
        for _ in 0..2 {
            took = took.min(prepared(benchmark, |operation| timed(operation, calls))?);
        }
        if took >= batch || calls >= benchmark.most {
            return Ok(calls.min(benchmark.most));
        }
        calls = calls.saturating_mul(2).min(benchmark.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    const ROUNDS: RoundPlan = RoundPlan { rounds: 5, batch: Nanos(1000), singles: 10, seed: 1 };

    #[test]
    fn every_round_times_each_benchmark_once_after_a_warm_up_round() {
        struct Counted(Rc<RefCell<Vec<u32>>>);
        impl Operation for Counted {
            fn repeat(&mut self, times: u32) -> Result<(), String> {
                self.0.borrow_mut().push(times);
                Ok(())
            }
        }
        let seen = Rc::new(RefCell::new(Vec::new()));
        let mut benchmarks = [Microbenchmark::new("counted", Counted(Rc::clone(&seen))).at_most(4)];
        let (results, _) = measure(&mut benchmarks, &ROUNDS).unwrap();
        let measured = results[0].as_ref().unwrap();
        assert_eq!((measured.calls, measured.per_call.len(), measured.singles.len()), (4, 5, 0));
        // Sized with 1, 2 and 4 calls, twice each, then six batches of 4 with two calls before each.
        let batches = [2, 4].repeat(6);
        assert_eq!(*seen.borrow(), [vec![1, 1, 2, 2, 4, 4], batches].concat());
    }

    #[test]
    fn a_benchmark_that_fails_has_a_reason_and_the_others_have_their_times() {
        let count = Rc::new(Cell::new(0));
        let counter = Rc::clone(&count);
        let failing = move || {
            counter.set(counter.get() + 1);
            counter.get() < 10
        };
        let mut benchmarks =
            [Microbenchmark::call("failing", failing), Microbenchmark::call("fine", || true)];
        let (results, _) = measure(&mut benchmarks, &ROUNDS).unwrap();
        assert!(results[0].as_ref().unwrap_err().starts_with("a call failed"));
        let fine = results[1].as_ref().unwrap();
        assert_eq!((fine.per_call.len(), fine.singles.len()), (5, 10));
    }

    #[test]
    fn a_batch_is_tried_until_one_succeeds_but_not_more_often_than_it_may_be() {
        struct Moody {
            succeeds_at: u32,
            calls: Rc<Cell<u32>>,
        }
        impl Operation for Moody {
            fn repeat(&mut self, _: u32) -> Result<(), String> {
                self.calls.set(self.calls.get() + 1);
                if self.calls.get() == self.succeeds_at { Ok(()) } else { Err(self.calls.get().to_string()) }
            }
            fn tries(&self) -> u32 {
                3
            }
        }
        let tried = |succeeds_at| {
            let calls = Rc::new(Cell::new(0));
            let mut moody = Microbenchmark::new("moody", Moody { succeeds_at, calls: Rc::clone(&calls) });
            (prepared(&mut moody, |operation| operation.repeat(1)), calls.get())
        };
        assert_eq!([1, 3].map(tried), [(Ok(()), 1), (Ok(()), 3)]);
        assert_eq!(tried(4), (Err("3".to_owned()), 3));
    }

    #[test]
    fn an_operation_is_prepared_before_each_batch_and_settled_after_it() {
        struct Room(u32);
        impl Operation for Room {
            fn prepare(&mut self) -> Result<(), String> {
                self.0 += 8;
                Ok(())
            }
            fn repeat(&mut self, times: u32) -> Result<(), String> {
                self.0 = self.0.checked_sub(times).filter(|_| self.0 <= 8).ok_or("not settled, or full")?;
                Ok(())
            }
            fn settle(&mut self) {
                self.0 = 0;
            }
        }
        let mut benchmarks = [Microbenchmark::new("room", Room(0)).at_most(8).with_singles()];
        let (results, _) = measure(&mut benchmarks, &ROUNDS).unwrap();
        assert_eq!(results[0].as_ref().map(|measured| measured.calls), Ok(8));
    }
}
