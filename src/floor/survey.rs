//! Measures the groups that were asked for.

use super::batch::{self, RoundPlan};
use super::group_result::GroupResult;
use super::layers::{Layers, UserCommand};
use super::loader::Pairs;
use super::processes::{self, Ballast, Rung};
use super::shells::Questions;
use super::{FloorError, faults, syscalls};
use crate::document::floor::{Group, Missing};
use firstbyte_measure::units::{Bytes, Nanos};
use std::path::Path;

/// The time to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// About fifteen seconds in all.
    Quick,
    /// About two minutes.
    Full,
}

/// What the groups need to run.
pub struct Survey<'s> {
    /// The programs, from the floor upwards.
    pub rungs: &'s [Rung],
    /// A private folder on a disk.
    pub folder: &'s Path,
    /// The processor on which readers wait.
    pub other: Option<usize>,
    pub effort: Effort,
    /// Seed of the random order.
    pub seed: u64,
}

/// Sizes of the parent process, in MiB.
const PARENTS: [usize; 3] = [1, 64, 1024];

impl Survey<'_> {
    pub fn syscalls(&self) -> Result<GroupResult, FloorError> {
        let rounds = self.rounds((80, 20_000), (300, 100_000));
        GroupResult::measure(Group::Syscalls, syscalls::candidates(self.other, self.folder), &rounds)
    }

    /// Procedure calls, threads and processes, then processes again with parents of several sizes.
    pub fn processes(&self) -> Result<GroupResult, FloorError> {
        let rounds = self.rounds((20, 1_000_000), (100, 4_000_000));
        let candidates = processes::candidates(self.rungs, self.folder);
        let mut result = GroupResult::measure(Group::Processes, candidates, &rounds)?;
        for mebibytes in PARENTS {
            result.extend(self.parent(mebibytes)?);
        }
        Ok(result)
    }

    fn parent(&self, mebibytes: usize) -> Result<GroupResult, FloorError> {
        let length = mebibytes << 20;
        let size =
            if mebibytes < 1024 { format!("+{mebibytes} MiB") } else { format!("+{} GiB", mebibytes / 1024) };

        if available().is_some_and(|free| free.0 < 2 * length as u64) {
            let reason = format!(
                "only {} of memory is free, less than twice this size",
                available().unwrap_or_default()
            );
            let name = format!("fork+exit, parent {size}");
            return Ok(GroupResult {
                missing: vec![Missing { group: Group::Processes, name, reason }],
                ..GroupResult::default()
            });
        }

        let _ballast = Ballast::of(length)?;
        let asked = processes::of_a_parent(&size, self.rungs.first());
        GroupResult::measure(Group::Processes, asked, &self.rounds((5, 200_000), (20, 1_000_000)))
    }

    /// Builtins of these shells: all or some of [`super::shells::NAMES`].
    pub fn shells(&self, names: &[&'static str]) -> Result<GroupResult, FloorError> {
        let (times, rounds) = match self.effort {
            Effort::Quick => (1_000, 7),
            Effort::Full => (10_000, 15),
        };

        let external = self.rungs.first().map(|floor| floor.executable.as_path());
        let mut questions = Questions::new(names, self.folder, external, times);
        let rounds = RoundPlan { rounds, ..self.rounds((0, 1), (0, 1)) };
        let (results, overhead) = batch::measure(&mut questions.benchmarks, &rounds)?;

        let (figures, missing) = questions.answers(&results);
        Ok(GroupResult { figures, missing, overhead, ..GroupResult::default() })
    }

    /// From a program run by a shell down to a system call that does nothing.
    pub fn waterfall(&self) -> Result<GroupResult, FloorError> {
        let mut layers = self.layers();
        layers.shell_and_programs(self.rungs);
        layers.in_process();
        let title = "from a program run by a shell down to the raw system call";
        layers.measure(title, &self.rounds((25, 500_000), (120, 2_000_000)))
    }

    /// The same for a command: its distance from the floor, and how much of it each layer takes. One run of the
    /// command takes about `lasts`.
    pub fn command(&self, command: &UserCommand, lasts: Nanos) -> Result<GroupResult, FloorError> {
        let mut layers = self.layers();
        layers.command(command, self.rungs);
        layers.in_process();

        let title = format!("from `{}` run by a shell down to the raw system call", command.shown());
        let time: u64 = if self.effort == Effort::Quick { 3_000_000_000 } else { 20_000_000_000 };
        // Three layers run the command itself.
        let affordable = time / (4 * lasts.0).max(1);
        let rounds = self.rounds((25, 500_000), (120, 2_000_000));
        let most = u64::from(rounds.rounds);
        let rounds = RoundPlan { rounds: u32::try_from(affordable.clamp(8, most)).unwrap_or(8), ..rounds };
        layers.measure(&title, &rounds)
    }

    /// Page faults, libraries and relocations.
    pub fn faults(&self) -> Result<GroupResult, FloorError> {
        let touching = self.rounds((30, 50_000), (200, 50_000));
        let mut result = GroupResult::measure(Group::Faults, faults::candidates(self.folder), &touching)?;

        let mut pairs = Pairs::new(self.folder);
        let (results, _) = batch::measure(&mut pairs.benchmarks, &self.rounds((30, 1), (150, 1)))?;
        let (figures, missing) = pairs.answers(&results);
        result.extend(GroupResult { figures, missing, ..GroupResult::default() });
        Ok(result)
    }

    /// Only the costs that estimates need: a system call, the exec of the lowest rung, page faults, libraries and
    /// relocations.
    pub fn units(&self) -> Result<GroupResult, FloorError> {
        let rounds = self.rounds((80, 20_000), (300, 100_000));
        let mut result = GroupResult::measure(Group::Syscalls, vec![syscalls::null()], &rounds)?;

        let exec = self.rungs.first().map(processes::exec).into_iter().collect();
        let rounds = self.rounds((20, 1_000_000), (100, 4_000_000));
        result.extend(GroupResult::measure(Group::Processes, exec, &rounds)?);

        result.extend(self.faults()?);
        Ok(result)
    }

    fn layers(&self) -> Layers<'_> {
        let repetitions = if self.effort == Effort::Quick { 1_000 } else { 4_000 };
        Layers::new(self.folder, repetitions)
    }

    /// Number of rounds and nanoseconds per batch, for a quick and for a full survey.
    fn rounds(&self, quick: (u32, u64), full: (u32, u64)) -> RoundPlan {
        let ((rounds, batch), singles) = match self.effort {
            Effort::Quick => (quick, 1_000),
            Effort::Full => (full, 10_000),
        };
        RoundPlan { rounds, batch: Nanos(batch), singles, seed: self.seed }
    }
}

/// The memory that the kernel could provide without swapping (`proc_meminfo(5)`).
fn available() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| Bytes(kibibytes * 1024))
}
