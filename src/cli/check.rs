//! Arguments and plan of `firstbyte check`.

use super::bench::{self, Benchmark};
use super::environment::EnvironmentArgs;
use super::export::ExportArgs;
use super::options::{JsonArgs, MeasuringArgs};
use super::running::plain;
use super::shell::Interpreter;
use super::values::whole;
use crate::analysis::profile::By;
use crate::analysis::runs::Along;
use crate::bench::{Adaptive, Destination, LookForMarks, RunLimit, RunPlan};
use crate::budget::{BudgetFile, ProgramBudget};
use crate::document::Kind;
use crate::output::Target;
use crate::report::formats::Format;
use crate::tracing::{Beside, TracePlan};
use firstbyte_measure::launch::Environment;
use firstbyte_measure::tracer::event::WantedContents;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  firstbyte check --init ./hello 'python3 hello.py'
  firstbyte check
  firstbyte check --only ./hello --json";

/// Check programs against the budgets in firstbyte.toml
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("json", |json| json.conflicts_with("init")))]
pub struct Args {
    /// With --init: commands to write budgets for, each in quotes if it has arguments
    #[arg(value_name = "COMMAND", requires = "init")]
    commands: Vec<String>,
    /// File with the budgets
    #[arg(long, value_name = "FILE", default_value = "firstbyte.toml")]
    file: PathBuf,
    /// Measure the commands, and write budgets that they meet today
    #[arg(long, requires = "commands")]
    init: bool,
    /// With --init: replace an existing file
    #[arg(long, requires = "init")]
    force: bool,
    /// Check only the program with this name (can be repeated)
    #[arg(long, value_name = "NAME", conflicts_with = "init")]
    only: Vec<String>,
    /// Give the programs your environment, even where it differs from that in the file
    #[arg(long, conflicts_with = "init")]
    inherit_env: bool,
    /// Make N counting runs of each program [default: 5; with --init: 20]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=10_000))]
    count_runs: Option<u32>,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Bench as usize }>,
}

/// A budget needs its counts, however long they take.
const COUNT_TIME: Duration = Duration::from_secs(3600);

/// What is to be checked, or written.
#[derive(Debug)]
pub struct Plan {
    pub file: PathBuf,
    /// The commands to write the file for; `None` to check them.
    pub init: Option<Vec<String>>,
    /// Replace an existing file.
    pub force: bool,
    /// Only the programs with these names; all if empty.
    pub only: Vec<String>,
    pub count_runs: u32,
    pub json: bool,
    pub exports: Vec<(Format, Target)>,
    /// Do not give the programs the variables of the file.
    inherit_env: bool,
    measuring: MeasuringArgs,
    environment: EnvironmentArgs,
}

/// Enough to see whether a count varies.
const COUNT_RUNS: u32 = 5;

/// Enough to see how much a count varies.
const INIT_COUNT_RUNS: u32 = 20;

/// The time for measuring each program.
const TIME_EACH: Duration = Duration::from_secs(3);

impl Args {
    pub fn plan(self) -> Plan {
        let usual = if self.init { INIT_COUNT_RUNS } else { COUNT_RUNS };
        Plan {
            file: self.file,
            init: self.init.then_some(self.commands),
            force: self.force,
            only: self.only,
            count_runs: self.count_runs.unwrap_or(usual),
            json: self.json.json,
            inherit_env: self.inherit_env,
            exports: self.exports.targets(),
            measuring: self.measuring,
            environment: self.environment,
        }
    }
}

impl Plan {
    /// The environment of the programs: the variables of the file, unless the options say otherwise.
    pub fn environment(&self, file: &BudgetFile) -> Environment {
        let fixed = file.environment.as_ref().filter(|_| !self.inherit_env);
        self.environment.environment_after(|environment| fixed.iter().for_each(|then| environment.fix(then)))
    }

    /// How one run of a program is recorded.
    pub fn recording(&self, environment: Environment) -> TracePlan {
        TracePlan {
            count: Some(1),
            quick: true,
            overhead: false,
            beside: Beside::default(),
            along: Along::CriticalPath,
            by: By::default(),
            mark: None,
            backend: self.measuring.backend(),
            each_run: plain(&self.measuring, environment),
            cold: None,
            ring: None,
            seed: self.measuring.seed(),
            contents: WantedContents::default(),
        }
    }

    /// How the programs of a file are measured. Their times are measured only if a budget limits one of them.
    pub fn measuring(
        &self,
        programs: &[ProgramBudget],
        environment: Environment,
    ) -> Result<bench::Plan, String> {
        let timed = programs.iter().any(ProgramBudget::limits_time);
        let each = TIME_EACH.saturating_mul(u32::try_from(programs.len()).unwrap_or(u32::MAX));
        let adaptive = Adaptive { least: 10, most: 1000, time: each, precision: 0.01, ..Adaptive::default() };

        let benchmarks = programs.iter().map(|program| benchmark(program, self.measuring.output()));
        let marked = programs.iter().any(|program| !program.marks.is_empty());
        let marks = if marked { LookForMarks::Always } else { LookForMarks::IfAny };
        let each_run = RunPlan { marks, ..plain(&self.measuring, environment) };
        Ok(bench::Plan {
            limit: if timed { RunLimit::Adaptive(adaptive) } else { RunLimit::Runs(1) },
            count_runs: self.count_runs,
            count_time: Some(COUNT_TIME),
            exports: self.exports.clone(),
            ..bench::Plan::plain(benchmarks.collect::<Result<_, _>>()?, each_run, &self.measuring)
        })
    }
}

fn benchmark(program: &ProgramBudget, output: Destination) -> Result<Benchmark, String> {
    let interpreter = if program.shell { Interpreter::default_shell() } else { Interpreter::None };
    let benchmark = Benchmark::of(&program.command, &interpreter)?;
    Ok(Benchmark { name: program.label().to_owned(), output, ..benchmark })
}
