//! Arguments and plan of `firstbyte tune`.

use super::bench::{self, Benchmark};
use super::environment::EnvironmentArgs;
use super::export::ExportArgs;
use super::options::{JsonArgs, MeasuringArgs};
use super::program::ProgramArgs;
use super::running::RunningArgs;
use super::shell::Interpreter;
use super::values::duration;
use crate::analysis::profile::By;
use crate::analysis::runs::Along;
use crate::bench::hook::Hook;
use crate::bench::{Adaptive, RunLimit, RunPlan};
use crate::document::Kind;
use crate::document::bench::{ColdMethod, Metric};
use crate::output::Target;
use crate::report::formats::Format;
use crate::tracing::{Beside, TracePlan};
use crate::tune::{Comparing, Way};
use firstbyte_measure::tracer::event::WantedContents;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  firstbyte tune node app.js
  firstbyte tune --list python3 app.py
  firstbyte tune --only unset,direct npm --version
  firstbyte tune --accept '[0-9.]+ s' --budget 3m -- pytest -q";

/// Try other ways to start a program, and prove which are faster
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Print which ways would be tried and why, without running anything
    #[arg(long, visible_alias = "dry-run")]
    list: bool,
    /// Try only these ways, by the names that --list prints
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave these ways out
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    skip: Vec<String>,
    /// Print the ways that do not help, too, and use ways together that change what the program does
    #[arg(long)]
    all: bool,
    /// Make this time shorter; `cold` is the total with the program's files on disk only
    #[arg(long = "for", value_name = "TIME", default_value = "total")]
    wanted: Wanted,
    /// Stop after about DURATION, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    budget: Duration,
    /// Keep what the ways write, such as caches, in this new folder; without this option it is removed
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Ignore what matches REGEX in the output, such as times (can be repeated)
    #[arg(long, value_name = "REGEX")]
    accept: Vec<String>,
    /// Do not compare what is written to stderr
    #[arg(long)]
    ignore_stderr: bool,
    /// Go on if the command changes files in the working directory or prints something else each time
    #[arg(short, long)]
    yes: bool,
    /// Also try the ways that the .toml files in this folder describe (can be repeated)
    #[arg(long, value_name = "DIR")]
    catalogue: Vec<PathBuf>,
    /// Run this shell command before each run
    #[arg(short, long, value_name = "COMMAND")]
    prepare: Option<String>,
    #[command(flatten)]
    running: RunningArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Tune as usize }>,
    #[command(flatten)]
    program: ProgramArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Wanted {
    FirstByte,
    Total,
    Cold,
}

/// What is to be tuned, and how.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Plan {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Only print what would be tried.
    pub list: bool,
    /// The names of the only ways; empty: all.
    pub only: Vec<String>,
    pub skip: Vec<String>,
    /// Print everything, and let everything be used together.
    pub all: bool,
    /// The time that is to be shorter.
    pub by: Metric,
    /// The page cache is cold before each run.
    pub cold: bool,
    pub budget: Duration,
    /// Where what the ways write is kept.
    pub keep: Option<PathBuf>,
    pub comparing: Comparing,
    /// Ask nothing.
    pub yes: bool,
    /// Folders of the user.
    pub catalogues: Vec<PathBuf>,
    /// A shell command before each run.
    pub prepare: Option<Hook>,
    /// How each run is made.
    pub each_run: RunPlan,
    pub exports: Vec<(Format, Target)>,
    measuring: MeasuringArgs,
}

impl Args {
    /// The plan, or an error that ends in its `help:` line.
    pub fn plan(self) -> Result<Plan, String> {
        let words = self.program.words(&Interpreter::None)?;
        if words.is_empty() {
            return Err(
                "there is no program to start\nhelp: name it, as in firstbyte tune node app.js".to_owned()
            );
        }
        let environment = self.environment.environment();
        let each_run = self.running.plan(self.measuring.output(), &self.measuring, environment, false)?;
        let limit = self.measuring.timeout();
        let hook = |command| Hook { command, limit, shell: None, variables: Vec::new() };
        Ok(Plan {
            words: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            list: self.list,
            only: self.only,
            skip: self.skip,
            all: self.all,
            by: if self.wanted == Wanted::FirstByte { Metric::FirstByte } else { Metric::Total },
            cold: self.wanted == Wanted::Cold,
            budget: self.budget,
            keep: self.keep,
            comparing: Comparing::new(&self.accept, self.ignore_stderr)?,
            yes: self.yes,
            catalogues: self.catalogue,
            prepare: self.prepare.map(hook),
            each_run,
            exports: self.exports.targets_with(&self.json),
            measuring: self.measuring,
        })
    }
}

impl Plan {
    /// How these ways are measured, each with its name: interleaved, at least and at most so many rounds, and for this time.
    /// Each must print what is expected.
    pub fn measuring(
        &self,
        ways: &[(String, Way)],
        expected: Option<&Arc<[u8]>>,
        ([least, most], time): ([u32; 2], Duration),
    ) -> Result<bench::Plan, String> {
        let benchmark = |(name, way): &(String, Way)| {
            let pair = |(name, value): (&String, &String)| (name.clone(), value.clone());
            Ok::<_, String>(Benchmark {
                name: name.clone(),
                command: way.pasted(None),
                words: way.words.clone(),
                variables: way.set.iter().map(pair).collect(),
                removed: way.unset.iter().cloned().collect(),
                expected: expected.cloned(),
                output: self.measuring.output(),
                prepare: self.prepare.clone(),
                ..Benchmark::of("true", &Interpreter::Literal)?
            })
        };
        let benchmarks = ways.iter().map(benchmark).collect::<Result<Vec<_>, _>>()?;
        let adaptive = Adaptive { least, most, time, precision: 0.002, ..Adaptive::default() };
        Ok(bench::Plan {
            limit: RunLimit::Adaptive(adaptive),
            compare_by: self.by,
            caches: vec![self.cold.then_some(ColdMethod::Copies)],
            count_runs: 0,
            ..bench::Plan::plain(benchmarks, self.each_run.clone(), &self.measuring)
        })
    }

    /// How the traced runs are made. `quick`: one is enough.
    pub fn tracing(&self, quick: bool) -> TracePlan {
        let is_whole = self.each_run.until.is_none() && self.prepare.is_none();
        TracePlan {
            count: Some(if quick { 1 } else { 3 }),
            quick: false,
            overhead: false,
            beside: Beside { reports: is_whole, ..Beside::default() },
            along: Along::CriticalPath,
            by: By::default(),
            mark: None,
            backend: self.measuring.backend(),
            contents: WantedContents::default(),
            each_run: self.each_run.clone(),
            cold: None,
            ring: None,
            seed: self.measuring.seed(),
        }
    }
}
