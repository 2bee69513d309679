//! Carries out what was asked for, group by group.

use super::batch::{self, Outcome, Overhead, Rounds, Subject};
use super::layers::{Layers, Subordinate};
use super::loader::Pairs;
use super::processes::{self, Ballast, Rung};
use super::shells::Questions;
use super::syscalls::{self, Candidate, Remark};
use super::waterfall::Waterfall;
use super::{Figure, FloorError, Group, Missing, faults};
use firstbyte_measure::units::{Bytes, Nanos};
use std::path::Path;

/// How much time is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Some fifteen seconds in all.
    Quick,
    /// About two minutes.
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
    /// The layers one above the other.
    pub waterfall: Option<Waterfall>,
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
        let rounds = self.rounds((20, 1_000_000), (100, 4_000_000));
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
        candidates(Group::Processes, asked, &self.rounds((5, 200_000), (20, 1_000_000)))
    }

    /// Builtins of these shells: [`super::shells::NAMES`], or some of them.
    pub fn shells(&self, names: &[&'static str]) -> Result<Part, FloorError> {
        let (times, rounds) = match self.effort {
            Effort::Quick => (1_000, 7),
            Effort::Full => (10_000, 15),
        };
        let external = self.rungs.first().map(|floor| floor.executable.as_path());
        let mut questions = Questions::new(names, self.folder, external, times);
        let rounds = Rounds { rounds, ..self.rounds((0, 1), (0, 1)) };
        let (outcomes, overhead) = batch::measure(&mut questions.subjects, &rounds)?;
        let (figures, missing) = questions.answers(&outcomes);
        Ok(Part { figures, missing, overhead, ..Part::default() })
    }

    /// From a program run by a shell down to a system call that does nothing.
    pub fn waterfall(&self) -> Result<Part, FloorError> {
        let mut layers = self.layers();
        layers.shell_and_programs(self.rungs);
        layers.in_process();
        let title = "from a program run by a shell down to the raw system call";
        layers.measure(title, &self.rounds((25, 500_000), (120, 2_000_000)))
    }

    /// The same for a command: how far it stands above the floor, and which layers hold the difference. `lasts`: about
    /// how long one run of it takes.
    pub fn command(&self, command: &Subordinate, lasts: Nanos) -> Result<Part, FloorError> {
        let mut layers = self.layers();
        layers.command(command, self.rungs);
        layers.in_process();
        let title = format!("from `{}` run by a shell down to the raw system call", command.shown());
        let time: u64 = if self.effort == Effort::Quick { 3_000_000_000 } else { 20_000_000_000 };
        // three layers run the command itself
        let affordable = time / (4 * lasts.0).max(1);
        let rounds = self.rounds((25, 500_000), (120, 2_000_000));
        let most = u64::from(rounds.rounds);
        let rounds = Rounds { rounds: u32::try_from(affordable.clamp(8, most)).unwrap_or(8), ..rounds };
        layers.measure(&title, &rounds)
    }

    /// Page faults, libraries, relocations.
    pub fn faults(&self) -> Result<Part, FloorError> {
        let touching = self.rounds((30, 50_000), (200, 50_000));
        let mut part = candidates(Group::Faults, faults::candidates(self.folder), &touching)?;
        let mut pairs = Pairs::new(self.folder);
        let (outcomes, _) = batch::measure(&mut pairs.subjects, &self.rounds((30, 1), (150, 1)))?;
        let (figures, missing) = pairs.answers(&outcomes);
        part.figures.extend(figures);
        part.missing.extend(missing);
        Ok(part)
    }

    /// What estimates are made of, and no more: a system call, the exec of the lowest rung, page faults, libraries,
    /// relocations.
    pub fn units(&self) -> Result<Part, FloorError> {
        let mut part =
            candidates(Group::Syscalls, vec![syscalls::null()], &self.rounds((80, 20_000), (300, 100_000)))?;
        let exec = self.rungs.first().map(processes::exec).into_iter().collect();
        let exec = candidates(Group::Processes, exec, &self.rounds((20, 1_000_000), (100, 4_000_000)))?;
        for further in [exec, self.faults()?] {
            part.figures.extend(further.figures);
            part.missing.extend(further.missing);
        }
        Ok(part)
    }

    fn layers(&self) -> Layers<'_> {
        let repetitions = if self.effort == Effort::Quick { 1_000 } else { 4_000 };
        Layers::new(self.folder, repetitions)
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
