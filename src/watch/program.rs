//! What is added up for one program.

use super::marks::PartTimes;
use super::memory::{COMMAND_LINE, Memory};
use crate::stats::LogHistogram;
use firstbyte_measure::tracer::watch::{EndedProgram, Ending};
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// All executions of one path.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) path: String,
    pub(super) execs: u64,
    /// The most executions of it that are in the row of all others.
    pub(super) missed: u64,
    /// When it was executed or looked for, in the count of [`super::programs::Programs`].
    pub(super) last_seen: u64,
    /// Failed execs of searches along PATH. They count for the program that the search started or, if it started none, for
    /// the first path that it tried.
    pub(super) failed: u64,
    /// How long these took.
    pub(super) failed_ns: u64,
    /// How many searches found it after failed execs.
    pub(super) searches: u64,
    /// The error of the failed execs, if nothing was found.
    pub(super) errno: Option<i32>,
    pub(super) unsuccessful: u64,
    pub(super) replaced: u64,
    pub(super) running: u64,
    pub(super) forks: u64,
    /// The lifetimes of its forks.
    pub(super) forks_ns: u64,
    pub(super) startup: LogHistogram,
    pub(super) first_output: LogHistogram,
    pub(super) lifetime: LogHistogram,
    pub(super) cpu_ns: u64,
    pub(super) parts: PartTimes,
    pub(super) commands: HashMap<Rc<str>, CommandLine>,
    pub(super) unlisted_commands: u64,
    /// The programs of the same name that executed it in the end, by their paths.
    pub(super) shims: BTreeMap<String, Shim>,
}

/// Executions with the same arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommandLine {
    pub(super) execs: u64,
    pub(super) lifetime_ns: u64,
}

/// A program that looks for another one of the same name, and executes it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shim {
    pub(super) execs: u64,
    /// The processes that it started before.
    pub(super) processes: u64,
    /// From its own start to that of the other program.
    pub(super) delay_ns: u64,
}

impl Program {
    pub(super) fn new(path: &str) -> Program {
        Program { path: path.to_owned(), ..Program::default() }
    }

    /// The last part of the path.
    pub(super) fn name(&self) -> &str {
        name(&self.path)
    }

    /// Adds all executions of another program. Nothing is kept of its command lines, its marks, its shims and
    /// the errors of its execs.
    pub(super) fn absorb(&mut self, other: &Program) {
        self.execs += other.execs;
        self.failed += other.failed;
        self.failed_ns = self.failed_ns.saturating_add(other.failed_ns);
        self.searches += other.searches;
        self.unsuccessful += other.unsuccessful;
        self.replaced += other.replaced;
        self.running += other.running;
        self.forks += other.forks;
        self.forks_ns = self.forks_ns.saturating_add(other.forks_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.startup.absorb(&other.startup);
        self.first_output.absorb(&other.first_output);
        self.lifetime.absorb(&other.lifetime);
        let listed: u64 = other.commands.values().map(|line| line.execs).sum();
        self.unlisted_commands += other.unlisted_commands + listed;
    }

    /// What its command lines, marks and shims take, without command lines that a timeline also has.
    pub(super) fn memory_of_texts(&self) -> u64 {
        let lines = self.commands.keys().filter(|line| Rc::strong_count(line) == 1);
        let lines: u64 = lines.map(|line| COMMAND_LINE + line.len() as u64).sum();
        lines
            + self.parts.memory()
            + self.shims.keys().map(|path| COMMAND_LINE + path.len() as u64).sum::<u64>()
    }

    /// The counts of a shim that has executed this program; `None` if there is no memory for a new one.
    pub(super) fn shim(&mut self, path: &str, memory: &mut Memory) -> Option<&mut Shim> {
        if !self.shims.contains_key(path) {
            if !memory.take(COMMAND_LINE, path) {
                return None;
            }
            self.shims.insert(path.to_owned(), Shim::default());
        }
        self.shims.get_mut(path)
    }

    /// Counts an execution. Returns the command line if there is one and it is kept.
    pub(super) fn starts(&mut self, command: Option<&str>, memory: &mut Memory) -> Option<Rc<str>> {
        self.execs += 1;
        let command = command?;
        let kept = match self.commands.get_key_value(command) {
            Some((kept, _)) => Rc::clone(kept),
            None if memory.take(COMMAND_LINE, command) => command.into(),
            None => {
                self.unlisted_commands += 1;
                return None;
            }
        };
        self.commands.entry(Rc::clone(&kept)).or_default().execs += 1;
        Some(kept)
    }

    /// Adds the times of an execution that has ended, or that was running at the end of the watch.
    pub(super) fn ends(&mut self, ended: &EndedProgram, command: Option<&Rc<str>>) {
        let Some(entered) = ended.entered else { return };
        let since = |instant: Nanos| instant.since(entered).map(|time| time.0);
        if let Some(time) = ended.returned.and_then(since) {
            self.startup.add(time);
        }
        if let Some(time) = ended.first_output.and_then(since) {
            self.first_output.add(time);
        }
        self.cpu_ns = self.cpu_ns.saturating_add(ended.cpu.0);

        match ended.how {
            Ending::Running => {
                self.running += 1;
                return;
            }
            Ending::Replaced => self.replaced += 1,
            Ending::Exited(status) => self.unsuccessful += u64::from(!status.success()),
        }
        let lifetime = since(ended.at).unwrap_or_default();
        self.lifetime.add(lifetime);
        if let Some(line) = command.and_then(|command| self.commands.get_mut(command)) {
            line.lifetime_ns = line.lifetime_ns.saturating_add(lifetime);
        }
    }
}

/// The last part of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_is_the_last_part_of_its_path() {
        let names = ["/usr/bin/git", "./configure", "make", "/", "", "/bin/x/"].map(name);
        assert_eq!(names, ["git", "configure", "make", "/", "", "x"]);
    }

    #[test]
    fn equal_command_lines_are_counted_together_and_what_does_not_fit_is_counted() {
        let mut memory = Memory::new(COMMAND_LINE + 2);
        let mut program = Program::new("/bin/ls");
        let kept = [0, 1].map(|_| program.starts(Some("ls"), &mut memory));
        assert!(kept.iter().all(Option::is_some));
        assert_eq!(program.starts(Some("ls -l"), &mut memory), None);
        assert_eq!((program.execs, program.unlisted_commands), (3, 1));
        assert_eq!(program.commands["ls"].execs, 2);
    }
}
