//! Carries out what was asked for, group by group.

use super::batch::{self, Measured, Outcome, Overhead, Rounds, Subject};
use super::processes::{self, Ballast, Rung};
use super::shells::{self, Questions, Shell};
use super::spawn::How;
use super::syscalls::{self, Candidate, Remark};
use super::waterfall::{Layer, Waterfall};
use super::{Figure, FloorError, Group, Missing};
use crate::units::{Bytes, Nanos};
use std::path::Path;

/// How much time is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A few seconds in all.
    Quick,
    /// About a minute.
    Full,
}

/// What the groups need.
pub struct Survey<'s> {
    /// The programs, from the floor upwards.
    pub rungs: &'s [Rung],
    /// A private folder on a disk.
    pub folder: &'s Path,
    /// The processor on which readers wait.
    pub other: Option<usize>,
    /// How much time is spent.
    pub effort: Effort,
    /// Seed of the order.
    pub seed: u64,
}

/// What one group gave.
#[derive(Debug, Default)]
pub struct Part {
    /// The figures.
    pub figures: Vec<Figure>,
    /// What could not be measured.
    pub missing: Vec<Missing>,
    /// The clock's and the loop's cost in these rounds.
    pub overhead: Overhead,
}

/// Parents of these sizes, in MiB.
const PARENTS: [usize; 3] = [1, 64, 1024];

impl Survey<'_> {
    /// System calls and clocks.
    pub fn syscalls(&self) -> Result<Part, FloorError> {
        let rounds = self.rounds((80, 20_000), (300, 100_000));
        candidates(Group::Syscalls, syscalls::candidates(self.other, self.folder), &rounds)
    }

    /// Procedure call, threads, processes; then again with parents of several sizes.
    pub fn processes(&self) -> Result<Part, FloorError> {
        let rounds = self.rounds((40, 20_000), (400, 20_000));
        let mut part = candidates(Group::Processes, processes::candidates(self.rungs, self.folder), &rounds)?;
        for mebibytes in PARENTS {
            let sized = self.parent(mebibytes)?;
            part.figures.extend(sized.figures);
            part.missing.extend(sized.missing);
        }
        Ok(part)
    }

    fn parent(&self, mebibytes: usize) -> Result<Part, FloorError> {
        let length = mebibytes << 20;
        let size =
            if mebibytes < 1024 { format!("+{mebibytes} MiB") } else { format!("+{} GiB", mebibytes / 1024) };
        if available().is_some_and(|free| free.0 < 2 * length as u64) {
            let reason =
                format!("less than twice as much memory is free: {}", available().unwrap_or_default());
            let name = format!("fork+exit, parent {size}");
            return Ok(Part {
                missing: vec![Missing { group: Group::Processes, name, reason }],
                ..Part::default()
            });
        }
        let _ballast = Ballast::of(length)?;
        let asked = processes::of_a_parent(&size, self.rungs.first());
        candidates(Group::Processes, asked, &self.rounds((5, 20_000), (40, 20_000)))
    }

    /// Shell builtins.
    pub fn shells(&self) -> Result<Part, FloorError> {
        let (times, rounds) = match self.effort {
            Effort::Quick => (1_000, 7),
            Effort::Full => (10_000, 15),
        };
        let external = self.rungs.first().map(|floor| floor.executable.as_path());
        let mut questions = Questions::new(self.folder, external, times);
        let rounds = Rounds { rounds, ..self.rounds((0, 1), (0, 1)) };
        let (outcomes, overhead) = batch::measure(&mut questions.subjects, &rounds)?;
        let (figures, missing) = questions.answers(&outcomes);
        Ok(Part { figures, missing, overhead })
    }

    /// From a program run by a shell down to a system call that does nothing.
    pub fn waterfall(&self) -> Result<Option<Waterfall>, FloorError> {
        let mut steps = Steps::new(self.folder, self.effort);
        steps.programs(self.rungs);
        steps.in_process();
        let rounds = self.rounds((30, 20_000), (200, 50_000));
        let (outcomes, _) = batch::measure(&mut steps.subjects, &rounds)?;
        Ok(Waterfall::of(
            "from a program run by a shell down to the raw system call",
            &steps.layers(&outcomes),
        ))
    }

    /// Rounds and the batch's nanoseconds, for a quick and for a full survey.
    fn rounds(&self, quick: (u32, u64), full: (u32, u64)) -> Rounds {
        let ((rounds, batch), singles) = match self.effort {
            Effort::Quick => (quick, 1_000),
            Effort::Full => (full, 10_000),
        };
        Rounds { rounds, batch: Nanos(batch), singles, seed: self.seed }
    }
}

/// Measures all of them together.
fn candidates(group: Group, candidates: Vec<Candidate>, rounds: &Rounds) -> Result<Part, FloorError> {
    let mut part = Part::default();
    let (mut subjects, mut remarks): (Vec<Subject>, Vec<Remark>) = (Vec::new(), Vec::new());
    for candidate in candidates {
        match candidate {
            Ok((subject, remark)) => {
                subjects.push(subject);
                remarks.push(remark);
            }
            Err((name, error)) => part.missing.push(Missing { group, name, reason: error.line() }),
        }
    }
    let (outcomes, overhead) = batch::measure(&mut subjects, rounds)?;
    part.overhead = overhead;
    for ((subject, remark), outcome) in subjects.iter().zip(&remarks).zip(outcomes) {
        part.take(group, subject, *remark, outcome);
    }
    Ok(part)
}

impl Part {
    fn take(&mut self, group: Group, subject: &Subject, remark: Remark, outcome: Outcome) {
        let name = subject.name.clone();
        match outcome {
            Ok(measured) => self.figures.extend(
                Figure::of(group, &name, &measured)
                    .map(|figure| figure.lmbench(remark.lmbench).note(remark.note)),
            ),
            Err(reason) => self.missing.push(Missing { group, name, reason }),
        }
    }
}

/// What the kernel could give without swapping (`proc_meminfo(5)`).
fn available() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| Bytes(kibibytes * 1024))
}

/// How the nanoseconds of a layer come from the subjects.
enum Source {
    /// One subject's.
    Of(usize),
    /// The difference of two subjects, so many repetitions each.
    Difference(usize, usize, u32),
}

/// The layers of a waterfall while they are put together, from the top.
struct Steps<'f> {
    folder: &'f Path,
    repetitions: u32,
    subjects: Vec<Subject>,
    planned: Vec<(String, String, Source)>,
}

impl<'f> Steps<'f> {
    fn new(folder: &'f Path, effort: Effort) -> Steps<'f> {
        let repetitions = if effort == Effort::Quick { 1_000 } else { 4_000 };
        Steps { folder, repetitions, subjects: Vec::new(), planned: Vec::new() }
    }

    /// A layer of one subject; `removes`: what the next layer does without. What cannot be had is left out.
    fn add<E>(&mut self, name: &str, removes: &str, subject: Result<Subject, E>) {
        if let Ok(subject) = subject {
            self.planned.push((name.to_owned(), removes.to_owned(), Source::Of(self.subjects.len())));
            self.subjects.push(subject);
        }
    }

    /// The programs from the dearest down, the first of them by a shell too.
    fn programs(&mut self, rungs: &[Rung]) {
        if let Some(top) = rungs.last() {
            let word = processes::word(top);
            let (whole, replaced) = (format!("{word}; exit 0"), format!("exec {word}"));
            let shell = |script: &str, how| processes::shell(script, how).map(|s| Subject::new("shell", s));
            self.add(&format!("/bin/sh -c, {}", top.name), "the shell's own fork", shell(&whole, How::Fork));
            self.add(&format!("/bin/sh -c exec, {}", top.name), "the shell", shell(&replaced, How::Fork));
        }
        for (index, rung) in rungs.iter().enumerate().rev() {
            let removes = match index.checked_sub(1).map(|below| &rungs[below]) {
                Some(below) => format!("what {} has over {}", rung.name, below.name),
                None => "the exec".to_owned(),
            };
            let spawn = rung.spawn(How::Vfork).map(|spawn| Subject::new("program", spawn));
            self.add(&format!("vfork+exec, {}", rung.name), &removes, spawn);
        }
        let bare = super::spawn::Spawn::exiting(How::Vfork).map(|spawn| Subject::new("vfork", spawn));
        self.add("vfork+exit", "the process", bare);
    }

    fn in_process(&mut self) {
        let (here, _) = shells::found();
        if let Some(shell) = here.iter().find(|shell| shell.name == "bash").or(here.first()) {
            self.builtin(shell);
        }
        let all = syscalls::down_to_the_floor();
        for (name, removes, subject) in all {
            self.add(name, removes, subject);
        }
    }

    /// `echo` in a shell that runs already.
    fn builtin(&mut self, shell: &Shell) {
        let scripts = [String::new(), shells::straight("echo 'hello world'", self.repetitions)];
        let running = |(index, script): (usize, &String)| {
            shell.running(self.folder, &format!("waterfall-{index}"), script)
        };
        let spawned: Vec<_> = scripts.iter().enumerate().filter_map(|each| running(each).ok()).collect();
        if spawned.len() < scripts.len() {
            return;
        }
        let first = self.subjects.len();
        self.subjects.extend(spawned.into_iter().map(|spawn| Subject::new("builtin", spawn).at_most(1)));
        let name = format!("echo, builtin of a running {}", shell.name);
        let source = Source::Difference(first + 1, first, self.repetitions);
        self.planned.push((name, format!("{}: parse, expand, dispatch", shell.name), source));
    }

    /// The layers all of whose subjects were measured.
    fn layers(&self, outcomes: &[Outcome]) -> Vec<Layer> {
        let measured = |index: usize| outcomes.get(index).and_then(|outcome| outcome.as_ref().ok());
        let samples = |source: &Source| match source {
            Source::Of(index) => measured(*index).map(|m: &Measured| m.per_call.clone()),
            Source::Difference(above, below, times) => {
                let (above, below) = (measured(*above)?, measured(*below)?);
                let pairs = above.per_call.iter().zip(&below.per_call);
                Some(pairs.map(|(a, b)| (a - b) / f64::from(*times)).collect())
            }
        };
        let layer = |(name, removes, source): &(String, String, Source)| {
            Some(Layer { name: name.clone(), removes: removes.clone(), samples: samples(source)? })
        };
        self.planned.iter().filter_map(layer).collect()
    }
}
