//! The commands of `firstbyte bench`: their names, hooks, parameters and shell.

use super::parameters::{Assignment, Parameter, combinations, replaced};
use crate::bench::Destination;
use crate::bench::hook::Hook;
use crate::cli::environment::Assignments;
use crate::cli::shell::{Interpreter, ShellArgs};
use crate::cli::values::duration;
use crate::report::words::count_of;
use std::path::PathBuf;
use std::sync::Arc;
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
    /// Its displayed name, which no other has.
    pub name: String,
    /// The name of `-n`, which several values of a parameter may share.
    pub given_name: Option<String>,
    /// The command as it was given, with its parameters replaced.
    pub command: String,
    /// The program and its arguments, including those of a shell.
    pub words: Vec<String>,
    /// The shell among them, quoted as a shell reads it; `None` if no shell runs the command.
    pub shell: Option<String>,
    pub parameters: Assignment,
    /// Variables that are set for this command and its hooks, each with its value.
    pub variables: Vec<(String, String)>,
    /// Variables that are removed for this command.
    pub removed: Vec<String>,
    /// What each run must print to stdout; `None`: anything.
    pub expected: Option<Arc<[u8]>>,
    /// Where it starts; `None`: in our own folder.
    pub directory: Option<PathBuf>,
    /// Where its output goes.
    pub output: Destination,
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
    /// `environments`: the variables of each `--env`, in which parameters are replaced, too. `outputs`: each `--output`.
    pub(super) fn plan(
        &self,
        environments: &[Assignments],
        outputs: &[Destination],
    ) -> Result<Commands, String> {
        let interpreter = self.shell.interpreter(self.commands.iter().map(String::as_str))?;
        let mut benchmarks = self.benchmarks(&interpreter, environments, outputs)?;
        let given = benchmarks.len();

        let mut position = |command: &String| position(&mut benchmarks, command, &interpreter);
        let reference = self.reference.as_ref().map(&mut position).transpose()?.unwrap_or(0);
        let subtract = self.subtract.as_ref().map(&mut position).transpose()?;

        for added in &mut benchmarks[given..] {
            added.output = outputs.first().cloned().unwrap_or_default();
            added.set(&self.common_variables(environments, given).unwrap_or_default());
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
    fn benchmarks(
        &self,
        interpreter: &Interpreter,
        environments: &[Assignments],
        outputs: &[Destination],
    ) -> Result<Vec<Benchmark>, String> {
        let assignments = self.parameters()?;
        let all = self.commands.len() * assignments.len();
        let given = self.names.len();
        if given > self.commands.len() && given != all {
            return Err(format!(
                "there are {given} names for {}\nhelp: give each command one name, in order",
                count_of(self.commands.len(), "command", "commands")
            ));
        }

        let mut benchmarks = Vec::new();
        for (index, command) in self.commands.iter().enumerate() {
            for assignment in &assignments {
                let at = Slot { command: index, benchmark: benchmarks.len(), of: all };
                let name_index = if given == all { at.benchmark } else { index };
                let mut benchmark = Benchmark::of(&replaced(command, assignment), interpreter)?;
                benchmark.parameters.clone_from(assignment);
                benchmark.output = self.value_at("output", outputs, at)?.cloned().unwrap_or_default();
                benchmark.set(&self.variables(environments, at)?);

                let has_own = self.common_variables(environments, all).is_none();
                benchmark.given_name = self.names.get(name_index).map(|name| replaced(name, assignment));
                let own_name = || benchmark.own_name(command, has_own);
                benchmark.name = benchmark.given_name.clone().unwrap_or_else(own_name);
                benchmarks.push(self.hooked(benchmark, at)?);
            }
        }
        Ok(benchmarks)
    }

    fn hooked(&self, benchmark: Benchmark, at: Slot) -> Result<Benchmark, String> {
        let hook = |text: &String| Hook {
            command: replaced(text, &benchmark.parameters),
            limit: self.hook_timeout,
            shell: benchmark.shell.clone(),
            variables: benchmark.variables.clone(),
        };
        let prepare = self.value_at("prepare", &self.prepare, at)?.map(hook);
        let conclude = self.value_at("conclude", &self.conclude, at)?.map(hook);
        let (setup, cleanup) = (self.setup.as_ref().map(hook), self.cleanup.as_ref().map(hook));

        Ok(Benchmark { prepare, conclude, setup, cleanup, ..benchmark })
    }

    /// The variables of a command.
    fn variables(&self, environments: &[Assignments], at: Slot) -> Result<Vec<(String, String)>, String> {
        match self.common_variables(environments, at.of) {
            Some(variables) => Ok(variables),
            None => {
                Ok(self.value_at("env", environments, at)?.map(|values| values.0.clone()).unwrap_or_default())
            }
        }
    }

    /// The variables of all commands, unless each has its own. A single command takes all that are given.
    fn common_variables(&self, environments: &[Assignments], all: usize) -> Option<Vec<(String, String)>> {
        let is_common = environments.len() < 2 || (self.commands.len() == 1 && environments.len() != all);
        is_common.then(|| environments.iter().flat_map(|environment| environment.0.clone()).collect())
    }

    /// The one value of an option for all commands, or the one of this command.
    fn value_at<'v, V>(&self, option: &str, values: &'v [V], at: Slot) -> Result<Option<&'v V>, String> {
        match values.len() {
            0 | 1 => Ok(values.first()),
            n if n == self.commands.len() => Ok(values.get(at.command)),
            n if n == at.of => Ok(values.get(at.benchmark)),
            n => Err(format!(
                "--{option} is given {n} times for {}\nhelp: give it once for all, or once for each command{}",
                count_of(self.commands.len(), "command", "commands"),
                if option == "env" { ", as in --env 'A=1 B=2'" } else { "" }
            )),
        }
    }
}

/// Where a benchmark is: the index of its command, and its own among all commands with all parameters.
#[derive(Clone, Copy)]
struct Slot {
    command: usize,
    benchmark: usize,
    /// The number of all benchmarks.
    of: usize,
}

impl Benchmark {
    /// As in hyperfine: the command, after the variables that are its own, and before the parameters that are not in it.
    fn own_name(&self, template: &str, has_own_variables: bool) -> String {
        let variables = self.variables.iter().filter(|_| has_own_variables);
        let variables = variables.map(|(name, value)| format!("{name}={} ", shell_words::quote(value)));

        let after = self.parameters_in_words(|name| !template.contains(&format!("{{{name}}}")));
        variables.chain([self.command.clone(), after]).collect()
    }

    /// ` (n = 1, m = 2)`; empty without parameters.
    fn parameters_in_words(&self, wanted: impl Fn(&str) -> bool) -> String {
        let wanted = self.parameters.iter().filter(|(name, _)| wanted(name));
        let words: Vec<String> = wanted.map(|(name, value)| format!("{name} = {value}")).collect();
        if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
    }

    fn set(&mut self, variables: &[(String, String)]) {
        let variable = |(name, value): &(String, String)| {
            (replaced(name, &self.parameters), replaced(value, &self.parameters))
        };
        self.variables = variables.iter().map(variable).collect();
    }

    /// A command, split into words, without hooks.
    pub(in crate::cli) fn of(command: &str, interpreter: &Interpreter) -> Result<Benchmark, String> {
        Ok(Benchmark {
            name: command.to_owned(),
            given_name: None,
            command: command.to_owned(),
            words: interpreter.words(command)?,
            shell: interpreter.shell().map(shell_words::join),
            parameters: Assignment::new(),
            variables: Vec::new(),
            removed: Vec::new(),
            expected: None,
            directory: None,
            output: Destination::default(),
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
    if let Some(index) = named {
        return Ok(index);
    }
    benchmarks.push(Benchmark::of(command, interpreter)?);
    Ok(benchmarks.len() - 1)
}

/// Adds their parameters, or else numbers, to equal names: results are found by name, also when files are compared later.
fn make_unique(benchmarks: &mut [Benchmark]) {
    let names: Vec<String> = benchmarks.iter().map(|benchmark| benchmark.name.clone()).collect();
    let is_repeated = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    for benchmark in benchmarks.iter_mut().filter(|benchmark| is_repeated(&benchmark.name)) {
        benchmark.name += &benchmark.parameters_in_words(|_| true);
    }

    for index in 0..benchmarks.len() {
        let (earlier, rest) = benchmarks.split_at_mut(index);
        let name = rest[0].name.clone();
        let taken = |name: &str| earlier.iter().any(|benchmark| benchmark.name == name);
        let free = (2..=index + 2).map(|n| format!("{name} ({n})")).find(|name| !taken(name));
        if taken(&name) {
            rest[0].name = free.unwrap_or(name);
        }
    }
}
