//! Arguments and plan of `firstbyte bisect`.

use super::bench::{self, Benchmark};
use super::diff;
use super::environment::EnvironmentArgs;
use super::options::MeasuringArgs;
use super::program::ProgramArgs;
use super::running::plain;
use super::shell::Interpreter;
use super::trace::beside;
use crate::analysis::profile::By;
use crate::analysis::runs::Along;
use crate::bench::{Adaptive, RunLimit};
use crate::bisect::Quantity;
use crate::bisect::judgement::COUNTS;
use crate::document::bench::Metric;
use crate::tracing::{Beside, TracePlan};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use firstbyte_measure::tracer::event::WantedContents;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  firstbyte bisect v1.2 HEAD --build 'make -s' -- ./app --help
  firstbyte bisect v1.2 HEAD --by files_opened -- python3 app.py";

/// The values of `--by`.
const QUANTITIES: [&str; 9] =
    ["total", "first_byte", COUNTS[0], COUNTS[1], COUNTS[2], COUNTS[3], COUNTS[4], COUNTS[5], COUNTS[6]];

/// Find the commit that made a start slower or heavier, and show what it brought
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A commit at which the start was still good
    good: String,
    /// A later commit at which it is bad
    bad: String,
    /// Run this shell command in the working tree of each commit; a commit that does not build is skipped
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,
    /// Compare commits by this time or count [default: total if BAD is certainly slower, else the first count that grew]
    #[arg(long, value_name = "QUANTITY", value_parser = PossibleValuesParser::new(QUANTITIES).map(|name| quantity(&name)))]
    by: Option<Quantity>,
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    environment: EnvironmentArgs,
}

fn quantity(name: &str) -> Quantity {
    match name {
        "first_byte" => Quantity::Time(Metric::FirstByte),
        _ => COUNTS
            .into_iter()
            .find(|count| *count == name)
            .map_or(Quantity::Time(Metric::Total), Quantity::Count),
    }
}

/// What is searched, and how commits are measured.
#[derive(Debug)]
pub struct Plan {
    pub good: String,
    pub bad: String,
    /// The shell command that builds a commit.
    pub build: Option<String>,
    /// What commits are compared by; `None`: what differs most certainly.
    pub by: Option<Quantity>,
    /// The program, as a shell would take it.
    command: String,
    measuring: MeasuringArgs,
    environment: EnvironmentArgs,
}

impl Args {
    /// The plan, or an error that ends in its `help:` line.
    pub fn plan(self) -> Result<Plan, String> {
        let words = self.program.words(&Interpreter::None)?;
        if words.is_empty() {
            return Err("there is no program to start\nhelp: name it after `--`, as in firstbyte bisect GOOD BAD -- ./app"
                .to_owned());
        }
        let words = words.iter().map(|word| word.to_string_lossy());
        Ok(Plan {
            good: self.good,
            bad: self.bad,
            build: self.build,
            by: self.by,
            command: shell_words::join(words),
            measuring: self.measuring,
            environment: self.environment,
        })
    }
}

/// How often a commit that cannot be judged is measured again, each time for twice as long.
pub const ATTEMPTS: u32 = 5;

/// The time for measuring each program at the first attempt, and the number of counting runs.
const FIRST_ATTEMPT: (Duration, u32) = (Duration::from_secs(3), 5);

impl Plan {
    /// How programs in these folders are measured, each with its name, for a comparison by times or by counts or by both.
    pub fn measuring(
        &self,
        folders: [(&str, PathBuf); 2],
        by: Option<Quantity>,
        attempt: u32,
    ) -> Result<bench::Plan, String> {
        let in_folder = |(name, folder): (&str, PathBuf)| {
            let benchmark = Benchmark::of(&self.command, &Interpreter::Literal)?;
            let output = self.measuring.output();
            Ok::<_, String>(Benchmark { name: name.to_owned(), output, directory: Some(folder), ..benchmark })
        };
        let [first, second] = folders.map(in_folder);

        let (time, counts) = (FIRST_ATTEMPT.0 * 2_u32.pow(attempt), FIRST_ATTEMPT.1 * 2_u32.pow(attempt));
        let adaptive =
            Adaptive { least: 20, most: 4000, time: 2 * time, precision: 0.002, ..Adaptive::default() };
        let is_timed = !matches!(by, Some(Quantity::Count(_)));
        let each_run = plain(&self.measuring, self.environment.environment());
        Ok(bench::Plan {
            limit: if is_timed { RunLimit::Adaptive(adaptive) } else { RunLimit::Runs(1) },
            count_runs: if matches!(by, Some(Quantity::Time(_))) { 0 } else { counts },
            ..bench::Plan::plain(vec![first?, second?], each_run, &self.measuring)
        })
    }

    /// How two commits with these names are compared step by step.
    pub fn comparing(&self, names: [String; 2]) -> diff::Plan {
        let runs = TracePlan {
            count: None,
            quick: false,
            overhead: true,
            beside: Beside { samples: true, ..Beside::default() },
            along: Along::CriticalPath,
            by: By::default(),
            mark: None,
            backend: self.measuring.backend(),
            contents: WantedContents::default(),
            each_run: plain(&self.measuring, self.environment.environment()),
            cold: None,
            ring: None,
            seed: self.measuring.seed(),
        };
        diff::Plan {
            sides: names,
            interpreter: Interpreter::None,
            runs: TracePlan { beside: beside(&runs, true, true), ..runs },
            full: false,
            exports: Vec::new(),
        }
    }

    /// The words of the program.
    pub fn words(&self) -> Result<Vec<String>, String> {
        Interpreter::Literal.words(&self.command)
    }
}
