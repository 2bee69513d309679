//! Batches and rounds: how everything here is timed.
//!
//! The clock costs about as much as the calls that are to be timed, and advances in steps. So a call is repeated in a
//! loop between two readings, often enough that neither matters; what the two readings and the empty loop cost is
//! measured by the same code, in the same rounds, and subtracted. In each round every subject is timed once, in random
//! order, so that what drifts hits all alike and the subjects of one round can be compared in pairs.
//!
//! The method is that of lmbench (L. `McVoy` and C. Staelin, "lmbench: Portable Tools for Performance Analysis", USENIX
//! 1996: `t_overhead` and `l_overhead`); the shuffled rounds are ours.

use super::{FloorError, clock};
use firstbyte_measure::clock::now;
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::units::Nanos;
use std::hint::black_box;

/// Something that can be carried out again and again.
pub trait Operation {
    /// Untimed, before each batch.
    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Carries it out `times` times in a row. The error says what one of them did instead.
    fn repeat(&mut self, times: u32) -> Result<(), String>;

    /// Untimed, after each batch: undoes what was prepared for it.
    fn settle(&mut self) {}
}

/// An operation with its name, and how it may be repeated.
pub struct Subject {
    /// What its figure is called.
    pub name: String,
    /// The largest batch that means the same as a small one (a pipe is full at some point).
    pub most: u32,
    /// Time single calls too, for a histogram. Pointless for what is long enough to be a batch of one.
    pub singles: bool,
    /// How many calls one turn of its loop makes.
    pub unrolled: u32,
    operation: Box<dyn Operation>,
}

/// How long, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// How many rounds are measured; one more goes before.
    pub rounds: u32,
    /// How long a batch is at least.
    pub batch: Nanos,
    /// How many single calls are timed, over all rounds.
    pub singles: u32,
    /// Seed of the order.
    pub seed: u64,
}

/// What measuring itself costs: subtracted from every batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Overhead {
    /// Two readings of the clock with nothing between them, in nanoseconds: the median.
    pub timer: f64,
    /// One turn of the empty loop, in nanoseconds: the median.
    pub turn: f64,
    /// The clock's step, in nanoseconds.
    pub step: u64,
    /// What an empty timed region reads once the timer's cost is subtracted: the median, in nanoseconds.
    pub empty: f64,
}

/// The times of one subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// How many calls a batch is.
    pub calls: u32,
    /// Nanoseconds a call, overhead subtracted, one value a round: the same round of another subject is its pair.
    pub per_call: Vec<f64>,
    /// Nanoseconds of single calls, the timer's cost subtracted.
    pub singles: Vec<f64>,
}

/// What became of a subject: its times, or why it has none.
pub type Outcome = Result<Measured, String>;

impl Subject {
    /// A subject whose batch may be of any length.
    pub fn new(name: impl Into<String>, operation: impl Operation + 'static) -> Subject {
        Subject {
            name: name.into(),
            most: 1 << 20,
            singles: false,
            unrolled: 1,
            operation: Box::new(operation),
        }
    }

    /// A single call that must return `true`.
    pub fn call(name: impl Into<String>, call: impl FnMut() -> bool + 'static) -> Subject {
        Subject { singles: true, ..Subject::new(name, Call(call)) }
    }

    /// At most so many calls a batch.
    #[must_use]
    pub fn at_most(self, most: u32) -> Subject {
        Subject { most, ..self }
    }

    /// One turn of its loop makes so many calls.
    #[must_use]
    pub fn unrolled(self, calls: u32) -> Subject {
        Subject { unrolled: calls, ..self }
    }

    /// Single calls are timed too.
    #[must_use]
    pub fn with_singles(self) -> Subject {
        Subject { singles: true, ..self }
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

/// Carries out all rounds. A subject that fails is given up; the others go on.
pub fn measure(subjects: &mut [Subject], rounds: &Rounds) -> Result<(Vec<Outcome>, Overhead), FloorError> {
    let mut session = Session::new(subjects, rounds);
    for round in 0..=rounds.rounds {
        session.round(round > 0)?;
    }
    Ok(session.finish())
}

/// One subject while it is measured.
struct Course<'s> {
    subject: &'s mut Subject,
    calls: u32,
    batches: Vec<Nanos>,
    singles: Vec<Nanos>,
    failure: Option<String>,
}

struct Session<'s> {
    courses: Vec<Course<'s>>,
    empty: Call<fn() -> bool>,
    /// Readings with nothing between them; those of the even and the odd rounds check one another.
    timer: Vec<Nanos>,
    turns: Vec<Nanos>,
    singles_a_round: u32,
    order: fastrand::Rng,
}

/// Turns of the empty loop: as many as a batch of a cheap call has.
const TURNS: u32 = 10_000;

/// Empty regions timed a round.
const EMPTY: u32 = 32;

impl<'s> Session<'s> {
    fn new(subjects: &'s mut [Subject], rounds: &Rounds) -> Session<'s> {
        let courses = subjects.iter_mut().map(|subject| Course::new(subject, rounds.batch)).collect();
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

    fn finish(self) -> (Vec<Outcome>, Overhead) {
        let even: Vec<f64> = self.timer.iter().step_by(2).map(|t| t.as_f64()).collect();
        let odd: Vec<f64> = self.timer.iter().skip(1).step_by(2).map(|t| t.as_f64()).collect();
        let turns: Vec<f64> = self.turns.iter().map(|t| t.as_f64()).collect();
        let timer = middle(&even);
        let overhead = Overhead {
            timer,
            turn: ((middle(&turns) - timer) / f64::from(TURNS)).max(0.0),
            step: clock::step(),
            empty: middle(&odd) - timer,
        };
        (self.courses.into_iter().map(|course| course.finish(&overhead)).collect(), overhead)
    }
}

fn middle(values: &[f64]) -> f64 {
    crate::stats::Summary::of(values).map_or(0.0, |summary| summary.median)
}

impl<'s> Course<'s> {
    fn new(subject: &'s mut Subject, batch: Nanos) -> Course<'s> {
        let sized = size(subject, batch);
        let (calls, failure) = match sized {
            Ok(calls) => (calls, None),
            Err(failure) => (1, Some(failure)),
        };
        Course { subject, calls, batches: Vec::new(), singles: Vec::new(), failure }
    }

    fn run(&mut self, counts: bool, singles: u32) {
        if self.failure.is_none() {
            self.failure = self.try_run(counts, singles).err();
        }
    }

    fn try_run(&mut self, counts: bool, singles: u32) -> Result<(), String> {
        self.warm_up()?;
        let calls = self.calls;
        let batch = prepared(self.subject, |operation| timed(operation, calls))?;
        if counts {
            self.batches.push(batch);
        }
        if counts && self.subject.singles {
            let singles = 0..singles.min(self.subject.most);
            let times =
                prepared(self.subject, |one| singles.map(|_| timed(one, 1)).collect::<Result<Vec<_>, _>>());
            self.singles.extend(times?);
        }
        Ok(())
    }

    /// A few calls that are not timed: the subject before has left the caches as it needed them, and a batch of two
    /// processes would pay for that. What is measured by single calls may be meant to find them cold.
    fn warm_up(&mut self) -> Result<(), String> {
        if self.calls == 1 {
            return Ok(());
        }
        let calls = self.calls.div_ceil(8).max(2);
        prepared(self.subject, |operation| operation.repeat(calls))
    }

    fn finish(self, overhead: &Overhead) -> Outcome {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let calls = f64::from(self.calls);
        let turn = overhead.turn / f64::from(self.subject.unrolled);
        let per_call = |batch: &Nanos| (batch.as_f64() - overhead.timer) / calls - turn;
        let single = |single: &Nanos| single.as_f64() - overhead.timer;
        Ok(Measured {
            calls: self.calls,
            per_call: self.batches.iter().map(per_call).collect(),
            singles: self.singles.iter().map(single).collect(),
        })
    }
}

/// Does something with an operation that is prepared for it.
fn prepared<T>(
    subject: &mut Subject,
    work: impl FnOnce(&mut dyn Operation) -> Result<T, String>,
) -> Result<T, String> {
    let operation = subject.operation.as_mut();
    let done = operation.prepare().and_then(|()| work(operation));
    operation.settle();
    done
}

/// Two readings of the clock, and the batch between them.
fn timed(operation: &mut dyn Operation, calls: u32) -> Result<Nanos, String> {
    let start = now();
    let done = operation.repeat(calls);
    let end = now();
    done.map(|()| Nanos(end.0.saturating_sub(start.0)))
}

/// The number of calls that take `batch` at least: doubled until they do.
fn size(subject: &mut Subject, batch: Nanos) -> Result<u32, String> {
    let mut calls = 1;
    loop {
        let mut took = Nanos(u64::MAX);
        // twice, because the first time code and pages are touched
        for _ in 0..2 {
            took = took.min(prepared(subject, |operation| timed(operation, calls))?);
        }
        if took >= batch || calls >= subject.most {
            return Ok(calls.min(subject.most));
        }
        calls = calls.saturating_mul(2).min(subject.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    const ROUNDS: Rounds = Rounds { rounds: 5, batch: Nanos(1000), singles: 10, seed: 1 };

    #[test]
    fn every_round_times_every_subject_once_and_a_warm_up_round_goes_before() {
        struct Counted(Rc<RefCell<Vec<u32>>>);
        impl Operation for Counted {
            fn repeat(&mut self, times: u32) -> Result<(), String> {
                self.0.borrow_mut().push(times);
                Ok(())
            }
        }
        let seen = Rc::new(RefCell::new(Vec::new()));
        let mut subjects = [Subject::new("counted", Counted(Rc::clone(&seen))).at_most(4)];
        let (outcomes, _) = measure(&mut subjects, &ROUNDS).unwrap();
        let measured = outcomes[0].as_ref().unwrap();
        assert_eq!((measured.calls, measured.per_call.len(), measured.singles.len()), (4, 5, 0));
        // sized with 1, 2 and 4 calls, twice each, then six batches of 4, two calls before each
        let batches = [2, 4].repeat(6);
        assert_eq!(*seen.borrow(), [vec![1, 1, 2, 2, 4, 4], batches].concat());
    }

    #[test]
    fn a_subject_that_fails_has_its_reason_and_the_others_have_their_times() {
        let count = Rc::new(Cell::new(0));
        let counter = Rc::clone(&count);
        let failing = move || {
            counter.set(counter.get() + 1);
            counter.get() < 10
        };
        let mut subjects = [Subject::call("failing", failing), Subject::call("fine", || true)];
        let (outcomes, _) = measure(&mut subjects, &ROUNDS).unwrap();
        assert!(outcomes[0].as_ref().unwrap_err().starts_with("a call failed"));
        let fine = outcomes[1].as_ref().unwrap();
        assert_eq!((fine.per_call.len(), fine.singles.len()), (5, 10));
    }

    #[test]
    fn what_must_be_prepared_is_prepared_before_each_batch_and_settled_after() {
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
        let mut subjects = [Subject::new("room", Room(0)).at_most(8).with_singles()];
        let (outcomes, _) = measure(&mut subjects, &ROUNDS).unwrap();
        assert_eq!(outcomes[0].as_ref().map(|measured| measured.calls), Ok(8));
    }
}
