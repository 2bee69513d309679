//! Arguments and plan of `firstbyte diff`.

use super::environment::EnvironmentArgs;
use super::export::ExportArgs;
use super::options::{JsonArgs, MeasuringArgs};
use super::trace::runs;
use crate::bench::explain::ExplainPlan;
use crate::document::Kind;
use crate::output::Target;
use crate::report::formats::Format;

const EXAMPLES: &str = "\
Examples:
  firstbyte diff 'python3 -c 1' 'python3 -S -c 1'
  firstbyte trace --record old.rec -- ./app && firstbyte diff old.rec ./app";

/// Compare two start-ups, step by step
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A command, in quotes if it has arguments, or a recording that `firstbyte trace --record` wrote
    #[arg(value_name = "A")]
    first: String,
    /// The command or the recording to compare it with
    #[arg(value_name = "B")]
    second: String,
    /// Run each command N times; the times shown are means of the middle half [default: 20, fewer for a command that takes long]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// Skip the sampled runs that name the functions of user code
    #[arg(long)]
    no_samples: bool,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Diff as usize }>,
}

#[derive(Clone, Debug)]
pub struct Plan {
    /// Both commands or recordings.
    pub sides: [String; 2],
    pub runs: ExplainPlan,
    /// Where the result is written as JSON.
    pub exports: Vec<(Format, Target)>,
}

impl Args {
    pub fn plan(self) -> Plan {
        let runs = ExplainPlan {
            samples: !self.no_samples,
            ..runs(&self.measuring, &self.environment, self.runs, false)
        };
        let exports = self.exports.targets_with(&self.json);
        Plan { sides: [self.first, self.second], runs, exports }
    }
}
