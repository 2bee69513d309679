//! The commands of `firstbyte bench`: their names, hooks, parameters and shell.

use super::parameters::{Assignment, Parameter, combinations, replaced};
use crate::bench::hook::Hook;
use crate::cli::shell::{Interpreter, ShellArgs};
use crate::cli::values::duration;
use std::time::Duration;

const HEADING: &str = "Command options";

#[derive(Debug, clap::Args)]
pub(super) struct CommandArgs {
    /// Commands to measure, each in quotes if it has arguments; they are split into words as a shell does, and run
    /// without a shell
    #[arg(value_name = "COMMAND", required = true)]
    commands: Vec<String>,
    /// Name a command (give it once for each command, in order)
    #[arg(short = 'n', long = "command-name", value_name = "NAME", help_heading = HEADING)]
    names: Vec<String>,
    /// Also measure this command, and compare the others with it [default: the first command]
    #[arg(long, value_name = "COMMAND", help_heading = HEADING)]
    reference: Option<String>,
    /// Also measure this command, and subtract its time from the others', run by run
    #[arg(long, value_name = "COMMAND", help_heading = HEADING)]
    subtract: Option<String>,
    /// Run this shell command before each run (give it once for all commands, or once for each)
    #[arg(short, long, value_name = "COMMAND", help_heading = HEADING)]
    prepare: Vec<String>,
    /// Run this shell command after each run (give it once for all commands, or once for each)
    #[arg(short = 'C', long, value_name = "COMMAND", help_heading = HEADING)]
    conclude: Vec<String>,
    /// Run this shell command before the first run of each command
    #[arg(short, long, value_name = "COMMAND", help_heading = HEADING)]
    setup: Option<String>,
    /// Run this shell command after the last run of each command
    #[arg(short, long, value_name = "COMMAND", help_heading = HEADING)]
    cleanup: Option<String>,
    /// Kill a command of --prepare, --conclude, --setup or --cleanup after DURATION
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1h", help_heading = HEADING)]
    hook_timeout: Duration,
    /// Measure the commands for each value of a list, which replaces {NAME} in them (can be repeated)
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "A,B,…"], allow_hyphen_values = true, help_heading = HEADING)]
    parameter_list: Vec<String>,
    /// Measure the commands for each number of a range, which replaces {NAME} in them (can be repeated)
    #[arg(short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"], allow_hyphen_values = true, help_heading = HEADING)]
    parameter_scan: Vec<String>,
    /// Distance between the numbers of --parameter-scan [default: 1]
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan", help_heading = HEADING)]
    parameter_step_size: Option<String>,
    #[command(flatten)]
    shell: ShellArgs,
}

/// One command that is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    pub name: String,
    /// The command as it was given, with its parameters replaced.
    pub command: String,
    /// The program and its arguments, including those of a shell.
    pub words: Vec<String>,
    /// The shell among them, quoted as a shell reads it; `None` if no shell runs the command.
    pub shell: Option<String>,
    pub parameters: Assignment,
    /// Variables that are set for this command, each with its value.
    pub variables: Vec<(String, String)>,
    /// A shell command before each run.
    pub prepare: Option<Hook>,
    /// A shell command after each run.
    pub conclude: Option<Hook>,
    /// A shell command before all runs.
    pub setup: Option<Hook>,
    /// A shell command after all runs.
    pub cleanup: Option<Hook>,
}

/// The commands of a plan, and the indices of those that play a part of their own.
pub(super) struct Commands {
    pub(super) benchmarks: Vec<Benchmark>,
    pub(super) reference: usize,
    pub(super) subtract: Option<usize>,
}

impl CommandArgs {
    /// `variables`: those of `--env`, in which parameters are replaced, too.
    pub(super) fn plan(&self, variables: &[(String, String)]) -> Result<Commands, String> {
        let interpreter = self.shell.interpreter(self.commands.iter())?;
        let mut benchmarks = self.benchmarks(&interpreter)?;

        let mut position = |command: &String| position(&mut benchmarks, command, &interpreter);
        let reference = self.reference.as_ref().map(&mut position).transpose()?.unwrap_or(0);
        let subtract = self.subtract.as_ref().map(&mut position).transpose()?;

        for benchmark in &mut benchmarks {
            benchmark.set(variables);
        }
        make_unique(&mut benchmarks);
        Ok(Commands { benchmarks, reference, subtract })
    }

    /// Whether shell commands run before the measured ones.
    pub(super) fn run_before(&self) -> bool {
        self.setup.is_some() || !self.prepare.is_empty()
    }

    fn parameters(&self) -> Result<Vec<Assignment>, String> {
        let lists = self.parameter_list.chunks_exact(2).map(|list| Parameter::list(&list[0], &list[1]));
        let step = self.parameter_step_size.as_deref();
        let scans = self
            .parameter_scan
            .chunks_exact(3)
            .map(|scan| Parameter::scan(&scan[0], &scan[1], &scan[2], step));
        combinations(&lists.chain(scans).collect::<Result<Vec<_>, _>>()?)
    }

    /// Every command under every combination of parameters.
    fn benchmarks(&self, interpreter: &Interpreter) -> Result<Vec<Benchmark>, String> {
        let assignments = self.parameters()?;
        let all = self.commands.len() * assignments.len();
        let given = self.names.len();
        if given > self.commands.len() && given != all {
            return Err(format!(
                "there are {given} names for {} commands\nhelp: give each command one name, in order",
                self.commands.len()
            ));
        }

        let mut benchmarks = Vec::new();
        for (place, command) in self.commands.iter().enumerate() {
            for assignment in &assignments {
                let name_place = if given == all { benchmarks.len() } else { place };
                let mut benchmark = Benchmark::of(&replaced(command, assignment), interpreter)?;
                if let Some(name) = self.names.get(name_place) {
                    benchmark.name = replaced(name, assignment);
                }
                benchmark.parameters.clone_from(assignment);
                benchmarks.push(self.hooked(benchmark, place)?);
            }
        }
        Ok(benchmarks)
    }

    fn hooked(&self, benchmark: Benchmark, place: usize) -> Result<Benchmark, String> {
        let own =
            |text: &String| Hook { command: replaced(text, &benchmark.parameters), limit: self.hook_timeout };
        let prepare = self.hook("prepare", &self.prepare, place)?.map(own);
        let conclude = self.hook("conclude", &self.conclude, place)?.map(own);
        let (setup, cleanup) = (self.setup.as_ref().map(own), self.cleanup.as_ref().map(own));

        Ok(Benchmark { prepare, conclude, setup, cleanup, ..benchmark })
    }

    /// The one hook of all commands, or the one of this command.
    fn hook<'h>(
        &self,
        option: &str,
        hooks: &'h [String],
        place: usize,
    ) -> Result<Option<&'h String>, String> {
        match hooks.len() {
            0 | 1 => Ok(hooks.first()),
            n if n == self.commands.len() => Ok(hooks.get(place)),
            n => Err(format!(
                "--{option} is given {n} times for {} commands\nhelp: give it once for all, or once for each command",
                self.commands.len()
            )),
        }
    }
}

impl Benchmark {
    fn set(&mut self, variables: &[(String, String)]) {
        let own = |(name, value): &(String, String)| {
            (replaced(name, &self.parameters), replaced(value, &self.parameters))
        };
        self.variables = variables.iter().map(own).collect();
    }

    /// A command, split into words, without hooks.
    pub(in crate::cli) fn of(command: &str, interpreter: &Interpreter) -> Result<Benchmark, String> {
        Ok(Benchmark {
            name: command.to_owned(),
            command: command.to_owned(),
            words: interpreter.words(command)?,
            shell: interpreter.shell().map(shell_words::join),
            parameters: Assignment::new(),
            variables: Vec::new(),
            prepare: None,
            conclude: None,
            setup: None,
            cleanup: None,
        })
    }
}

/// The index of a command that an option names. It may be one of the others; if not, it is added to them.
fn position(
    benchmarks: &mut Vec<Benchmark>,
    command: &str,
    interpreter: &Interpreter,
) -> Result<usize, String> {
    let named = benchmarks.iter().position(|b| b.command == command || b.name == command);
    if let Some(place) = named {
        return Ok(place);
    }
    benchmarks.push(Benchmark::of(command, interpreter)?);
    Ok(benchmarks.len() - 1)
}

/// Adds numbers to equal names: results are found by name, also when files are compared later.
fn make_unique(benchmarks: &mut [Benchmark]) {
    for place in 0..benchmarks.len() {
        let (earlier, rest) = benchmarks.split_at_mut(place);
        let name = rest[0].name.clone();
        let taken = |name: &str| earlier.iter().any(|benchmark| benchmark.name == name);
        let free = (2..=place + 2).map(|n| format!("{name} ({n})")).find(|name| !taken(name));
        if taken(&name) {
            rest[0].name = free.unwrap_or(name);
        }
    }
}
