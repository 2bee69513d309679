//! `firstbyte diff`.

use super::common::MeasuringArgs;
use super::trace::{Runs, runs};

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
}

impl Args {
    /// The plan that these arguments amount to.
    pub fn plan(self) -> Plan {
        let runs = runs(&self.measuring, self.runs, false);
        Plan { sides: [self.first, self.second], runs }
    }
}
