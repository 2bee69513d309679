//! Arguments and plan of `firstbyte tune`.

use super::environment::EnvironmentArgs;
use super::export::ExportArgs;
use super::options::{JsonArgs, MeasuringArgs};
use super::program::ProgramArgs;
use super::running::RunningArgs;
use super::shell::Interpreter;
use super::values::duration;
use crate::bench::hook::Hook;
use crate::document::Kind;
use crate::document::bench::Metric;
use crate::output::Target;
use crate::report::formats::Format;
use crate::tune::{Comparing, TunePlan};
use std::path::PathBuf;
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
    /// Make this time shorter [default: first-byte, or total for a command that writes nothing to stdout]; `cold` is the
    /// total with the program's files on disk only
    #[arg(long = "for", value_name = "TIME")]
    wanted: Option<Wanted>,
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
    /// Also compile the program with other options: COMMAND, such as 'cc -O2 -o app app.c', compiles it
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,
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

impl Wanted {
    fn metric(self) -> Option<Metric> {
        match self {
            Wanted::FirstByte => Some(Metric::FirstByte),
            Wanted::Total => Some(Metric::Total),
            Wanted::Cold => None,
        }
    }
}

/// What is to be tuned, and what is shown of it.
#[derive(Debug)]
pub struct Plan {
    pub tuning: TunePlan,
    /// Only print what would be tried.
    pub list: bool,
    /// Folders of the user.
    pub catalogues: Vec<PathBuf>,
    pub exports: Vec<(Format, Target)>,
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
        let tuning = TunePlan {
            words: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            build: self.build.as_deref().map_or(Ok(Vec::new()), built)?,
            only: self.only,
            skip: self.skip,
            all: self.all,
            by: self.wanted.and_then(Wanted::metric),
            cold: self.wanted == Some(Wanted::Cold),
            budget: self.budget,
            keep: self.keep,
            comparing: Comparing::new(&self.accept, self.ignore_stderr)?,
            yes: self.yes,
            prepare: self.prepare.map(hook),
            each_run,
            backend: self.measuring.backend(),
            seed: self.measuring.seed(),
        };
        let exports = self.exports.targets_with(&self.json);
        Ok(Plan { tuning, list: self.list, catalogues: self.catalogue, exports })
    }
}

/// The words of a command that compiles a program.
fn built(command: &str) -> Result<Vec<String>, String> {
    let words = shell_words::split(command).unwrap_or_default();
    let place = words.iter().position(|word| word == "-o");
    if place.is_some_and(|place| place > 0 && place + 1 < words.len()) {
        return Ok(words);
    }
    Err(format!("`{command}` has no `-o FILE`\nhelp: write it like --build 'cc -O2 -o app app.c'"))
}
