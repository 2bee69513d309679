//! `firstbyte check`: its arguments, and the plan that they amount to.

use super::bench::{self, Benchmark, DEFAULT_TIMEOUT};
use super::common::{ExportArgs, Format, MeasuringArgs};
use crate::bench::{Adaptive, Budget};
use crate::budget::ProgramBudget;
use crate::document::bench::Metric;
use crate::output::Target;
use std::path::PathBuf;
use std::time::Duration;

/// Measures programs and holds them to the budgets of firstbyte.toml.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// With --init: the commands to write budgets for
    #[arg(value_name = "COMMAND", requires = "init")]
    commands: Vec<String>,
    /// The file of budgets
    #[arg(long, value_name = "FILE", default_value = "firstbyte.toml")]
    file: PathBuf,
    /// Write the file: budgets that these commands just keep today
    #[arg(long, requires = "commands")]
    init: bool,
    /// With --init: replace a file that is there
    #[arg(long, requires = "init")]
    force: bool,
    /// Only the program of this name (may be repeated)
    #[arg(long, value_name = "NAME", conflicts_with = "init")]
    only: Vec<String>,
    /// Counting runs of each program (default: 5; with --init 20)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count_runs: Option<u32>,
    /// Print the outcome as JSON
    #[arg(long, conflicts_with = "init")]
    json: bool,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    exports: ExportArgs,
}

/// What is to be checked, or written.
#[derive(Debug)]
pub struct Plan {
    /// The file of budgets.
    pub file: PathBuf,
    /// Write it, from these commands.
    pub init: Option<Vec<String>>,
    /// Replace what is there.
    pub force: bool,
    /// Only these programs; empty: all.
    pub only: Vec<String>,
    /// Counting runs of each program.
    pub count_runs: u32,
    /// As JSON rather than as text.
    pub json: bool,
    /// Where the measurements go.
    pub exports: Vec<(Format, Target)>,
    measuring: MeasuringArgs,
}

/// Enough to see whether a count varies.
const COUNT_RUNS: u32 = 5;

/// Enough to see by how much.
const INIT_COUNT_RUNS: u32 = 20;

/// Times are measured for so long, for each program.
const TIME_EACH: Duration = Duration::from_secs(3);

impl Args {
    /// The plan.
    pub fn plan(self) -> Plan {
        let usual = if self.init { INIT_COUNT_RUNS } else { COUNT_RUNS };
        Plan {
            file: self.file,
            init: self.init.then_some(self.commands),
            force: self.force,
            only: self.only,
            count_runs: self.count_runs.unwrap_or(usual),
            json: self.json,
            exports: self.exports.targets(),
            measuring: self.measuring,
        }
    }
}

impl Plan {
    /// How the programs of a file are to be measured: in time only if a budget limits their time.
    pub fn measuring(&self, programs: &[ProgramBudget]) -> Result<bench::Plan, String> {
        let timed = programs.iter().any(ProgramBudget::limits_time);
        let each = TIME_EACH.saturating_mul(u32::try_from(programs.len()).unwrap_or(u32::MAX));
        let adaptive = Adaptive { least: 10, most: 1000, time: each, precision: 0.01 };
        Ok(bench::Plan {
            benchmarks: programs.iter().map(benchmark).collect::<Result<_, _>>()?,
            reference: 0,
            subtract: None,
            compare_by: Metric::Total,
            budget: if timed { Budget::Adaptive(adaptive) } else { Budget::Runs(1) },
            warmup: 1,
            ignore_failure: false,
            input: None,
            until: None,
            env_offset: false,
            cold: None,
            backend: self.measuring.backend(),
            output: self.measuring.output(),
            cpus: self.measuring.cpus.clone(),
            timeout: self.measuring.timeout.unwrap_or(DEFAULT_TIMEOUT),
            seed: self.measuring.seed,
            overhead: false,
            count_runs: self.count_runs,
            exports: self.exports.clone(),
        })
    }
}

fn benchmark(program: &ProgramBudget) -> Result<Benchmark, String> {
    let shell = program.shell.then(|| vec!["/bin/sh".to_owned()]);
    let benchmark = Benchmark::of(&program.command, shell.as_deref())?;
    Ok(Benchmark { name: program.label().to_owned(), ..benchmark })
}
