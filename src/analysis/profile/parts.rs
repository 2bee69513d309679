//! The parts of user code that are divided by the same samples, and what samples say about a part.

use super::{Profile, Stack, Task, Weighed};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How long user code of one task ran, exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTime {
    pub task: Task,
    /// In nanoseconds.
    pub time: f64,
}

/// A time by samples, with its 95 % interval; in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub time: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// Half of the interval.
    pub fn error(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// Fewer samples of a thread say little about it: those of all threads of its program are taken.
const MIN_SAMPLES: u64 = 20;
/// The normal distribution's quantile for 95 %.
pub(super) const QUANTILE: f64 = 1.96;

/// Samples of one thing, part by part.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// Each sample once.
    pub(super) samples: u64,
    time: f64,
    /// The middle of the interval.
    middle: f64,
    variance: f64,
    /// All user code of the tasks.
    most: f64,
}

/// User code that is divided by the same samples: that of a thread, or of all threads with few samples of a program.
pub(super) struct Part<'p> {
    pub(super) program: Arc<str>,
    pub(super) stacks: Vec<Sampled<'p>>,
    pub(super) all: Weighed,
    pub(super) time: f64,
}

/// The samples with one stack.
#[derive(Clone, Copy)]
pub(super) struct Sampled<'p> {
    pub(super) stack: &'p Stack,
    pub(super) weighed: Weighed,
    /// No part before has them.
    pub(super) is_new: bool,
}

/// Samples that have one thing in common.
#[derive(Clone, Copy, Default)]
pub(super) struct Common {
    weighed: Weighed,
    /// Those that no part before has.
    new: u64,
}

impl Common {
    pub(super) fn add(&mut self, more: &Sampled<'_>) {
        self.weighed.add(more.weighed);
        self.new += more.new_samples();
    }
}

/// First the threads with enough samples, then the others of each program. These are divided by all samples of the program,
/// so the parts of one program are not quite independent; what the others take is little.
pub(super) fn parts<'p>(times: &[UserTime], profile: &'p Profile) -> Vec<Part<'p>> {
    let (mut parts, mut own) = (Vec::new(), BTreeSet::new());
    let mut others = BTreeMap::<&Arc<str>, f64>::new();
    for UserTime { task, time } in times {
        let stacks = profile.stacks.get(task).into_iter().flatten();
        let part = Part::new(&task.program, *time, stacks.map(|counted| (counted, true)));
        if part.all.samples >= MIN_SAMPLES {
            parts.push(part);
            own.insert(task);
        } else {
            *others.entry(&task.program).or_default() += time;
        }
    }

    for (program, time) in others {
        let of_program = profile.stacks.iter().filter(|(task, _)| task.program == *program);
        let stacks =
            of_program.flat_map(|(task, stacks)| stacks.iter().map(|counted| (counted, !own.contains(task))));
        parts.push(Part::new(program, time, stacks));
    }
    parts
}

impl Sampled<'_> {
    /// Samples that no part before has.
    pub(super) fn new_samples(&self) -> u64 {
        if self.is_new { self.weighed.samples } else { 0 }
    }
}

impl<'p> Part<'p> {
    fn new(
        program: &Arc<str>,
        time: f64,
        stacks: impl Iterator<Item = ((&'p Stack, &'p Weighed), bool)>,
    ) -> Part<'p> {
        let sampled = |((stack, weighed), is_new): (_, bool)| {
            let (stack, weighed): (&Stack, &Weighed) = (stack, weighed);
            Sampled { stack, weighed: *weighed, is_new }
        };
        let stacks: Vec<_> = stacks.map(sampled).collect();
        let mut all = Weighed::default();
        for sampled in &stacks {
            all.add(sampled.weighed);
        }
        Part { program: Arc::clone(program), stacks, all, time }
    }

    /// Each stack with its time.
    pub(super) fn times(&self) -> impl Iterator<Item = (&'p Stack, f64)> {
        let each = self.time / self.all.weight;
        self.stacks.iter().map(move |sampled| (sampled.stack, each * sampled.weighed.weight))
    }

    /// The time and its variance of what some of the samples have in common.
    pub(super) fn counted(&self, some: Common) -> Counted {
        let (share, variance) = share(some.weighed.samples, self.all.samples);
        Counted {
            samples: some.new,
            time: self.time * some.weighed.weight / self.all.weight,
            middle: self.time * share,
            variance: variance * self.time * self.time,
            most: self.time,
        }
    }
}

/// The share of some samples and its variance, as of Agresti and Coull, "Approximate is better than exact" (1998): it has an
/// interval even where all samples agree.
pub(super) fn share(some: u64, all: u64) -> (f64, f64) {
    let (some, all) = (some as f64 + 2.0, all as f64 + 4.0);
    let share = some / all;
    (share, share * (1.0 - share) / all)
}

impl Counted {
    pub(super) fn add(&mut self, more: &Counted) {
        self.samples += more.samples;
        self.time += more.time;
        self.middle += more.middle;
        self.variance += more.variance;
        self.most += more.most;
    }

    /// Samples have weights, so the time may be beside the middle that their number gives.
    pub(super) fn estimate(&self) -> Estimate {
        let error = QUANTILE * self.variance.sqrt();
        let low = (self.middle - error).clamp(0.0, self.time);
        let high = (self.middle + error).min(self.most).max(self.time);
        Estimate { time: self.time, low, high }
    }
}
