//! `firstbyte diff`.

use super::common::MeasuringArgs;
use super::trace::{Runs, runs};
use crate::output::Target;

/// Compares two start-ups: which steps, files, faults and programs came and went, and what each cost.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A command (quoted, split as a shell splits words), or a recording of `firstbyte trace --record`
    #[arg(value_name = "A")]
    first: String,
    /// What to compare it with
    #[arg(value_name = "B")]
    second: String,
    /// How many runs of each; the times shown are medians (default: 20, fewer for a command that takes long)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// Write both sides and what changed as JSON (`-`: stdout)
    #[arg(long, value_name = "FILE")]
    export_json: Option<String>,
    #[command(flatten)]
    measuring: MeasuringArgs,
}

/// A validated plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Both sides.
    pub sides: [String; 2],
    /// How runs are made.
    pub runs: Runs,
    /// Where the result is written as JSON.
    pub export: Option<Target>,
}

impl Args {
    /// The plan that these arguments amount to.
    pub fn plan(self) -> Plan {
        let runs = runs(&self.measuring, self.runs, false);
        let export = self.export_json.as_deref().map(Target::parse);
        Plan { sides: [self.first, self.second], runs, export }
    }
}
