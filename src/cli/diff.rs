//! Arguments and plan of `firstbyte diff`.

use super::export::ExportArgs;
use super::options::JsonArgs;
use super::shell::Interpreter;
use super::trace::{CACHE, ExplainingArgs, beside};
use crate::document::Kind;
use crate::output::Target;
use crate::report::formats::Format;
use crate::tracing::TracePlan;

const EXAMPLES: &str = "\
Examples:
  firstbyte diff 'python3 -c 1' 'python3 -S -c 1'
  firstbyte trace --record old.rec ./app && firstbyte diff old.rec ./app";

/// Compare two start-ups, step by step
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("cache", |cache| cache.help(CACHE)))]
pub struct Args {
    /// A command, in quotes if it has arguments, or a recording that `firstbyte trace --record` wrote
    #[arg(value_name = "A")]
    first: String,
    /// The command or the recording to compare it with
    #[arg(value_name = "B")]
    second: String,
    #[command(flatten)]
    explaining: ExplainingArgs,
    /// Print everything, not only the verdict and the largest differences
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Diff as usize }>,
}

#[derive(Clone, Debug)]
pub struct Plan {
    /// Both commands or recordings.
    pub sides: [String; 2],
    /// What runs the commands.
    pub interpreter: Interpreter,
    pub runs: TracePlan,
    /// Print more than the first screen.
    pub full: bool,
    /// Where the result is written, as JSON or as a page.
    pub exports: Vec<(Format, Target)>,
}

impl Args {
    /// The plan, or an error that ends in its `help:` line.
    pub fn plan(self) -> Result<Plan, String> {
        let sides = [self.first, self.second];
        let runs = self.explaining.plan()?;
        let overhead = !runs.quick;
        let beside = beside(&runs, !self.explaining.no_runtimes, overhead);
        Ok(Plan {
            interpreter: self.explaining.interpreter(sides.iter().map(String::as_str))?,
            sides,
            runs: TracePlan { overhead, beside, ..runs },
            full: self.full,
            exports: self.exports.targets_with(&self.json),
        })
    }
}

impl Plan {
    /// The words of a side that is a command.
    pub fn words(&self, side: &str) -> Result<Vec<String>, String> {
        self.interpreter.words(side)
    }
}
