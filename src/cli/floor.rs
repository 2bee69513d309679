//! Arguments and plan of `firstbyte floor`.

use super::environment::InheritEnvArgs;
use super::export::ExportArgs;
use super::options::{CpusArgs, JsonArgs, SeedArgs, TimeoutArgs};
use crate::document::Kind;
use crate::document::floor::Group;
use crate::floor::{Effort, FloorPlan};
use crate::output::Target;
use crate::report::formats::Format;
use firstbyte_measure::launch::Environment;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  firstbyte floor --quick
  firstbyte floor --only syscalls --histograms
  firstbyte floor -- ls /
  firstbyte floor --cpus-sweep";

/// Measure the basic costs of starting programs on this machine
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("cpus", |cpus| cpus.help(CPUS)),
    mut_arg("timeout", |timeout| timeout.default_value("1m").help(TIMEOUT)),
    mut_arg("export-svg", |svg| svg.help("Draw the waterfall as an SVG picture (as PNG if FILE ends in .png)")),
    mut_arg("export-png", |png| png.help("Draw the waterfall as a PNG picture")),
)]
pub struct Args {
    /// Measure only this group (can be repeated)
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    only: Vec<GroupArg>,
    /// Take about 15 seconds instead of about two minutes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    cpus: CpusArgs,
    #[command(flatten)]
    timeout: TimeoutArgs,
    /// Instead, run the command with 1, 2, 4 … processors, set by its affinity and by the variable of its runtime
    /// (without a command: Go, Java and Node)
    #[arg(long, conflicts_with = "only")]
    cpus_sweep: bool,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    environment: InheritEnvArgs,
    /// Draw the histograms of single calls
    #[arg(long)]
    histograms: bool,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Floor as usize }>,
    /// Show how far this command is above the floor, and which layers cause the difference
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const CPUS: &str = "Run everything on this processor, and readers on a second one of the list, such as 0 or 0,2 \
                    [default: the last processor]";
const TIMEOUT: &str =
    "Kill the command after DURATION, such as 500ms or 2m; a number without a unit is in seconds";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GroupArg {
    Syscalls,
    Processes,
    Faults,
    Shells,
    #[value(alias = "print")]
    Prints,
    Waterfall,
}

#[derive(Debug)]
pub struct Plan {
    pub measuring: FloorPlan,
    /// The environment of the programs.
    pub environment: Environment,
    /// Vary the number of processors instead of measuring the floor.
    pub sweep: bool,
    /// Draw the histograms.
    pub histograms: bool,
    pub exports: Vec<(Format, Target)>,
}

impl Args {
    pub fn plan(self) -> Plan {
        let wanted = |group: &Group| {
            let named = self.only.iter().any(|only| only.group() == *group);
            // With a command, its own waterfall is wanted, not everything.
            named || (self.only.is_empty() && (self.command.is_empty() || *group == Group::Waterfall))
        };

        let measuring = FloorPlan {
            groups: Group::ALL.into_iter().filter(wanted).collect(),
            effort: if self.quick { Effort::Quick } else { Effort::Full },
            cpus: self.cpus.cpus,
            timeout: self.timeout.timeout,
            seed: self.seed.seed,
            command: self.command,
        };
        Plan {
            measuring,
            environment: self.environment.environment(),
            sweep: self.cpus_sweep,
            histograms: self.histograms,
            exports: self.exports.targets_with(&self.json),
        }
    }
}

impl GroupArg {
    fn group(self) -> Group {
        match self {
            GroupArg::Syscalls => Group::Syscalls,
            GroupArg::Processes => Group::Processes,
            GroupArg::Faults => Group::Faults,
            GroupArg::Shells => Group::Shells,
            GroupArg::Prints => Group::Prints,
            GroupArg::Waterfall => Group::Waterfall,
        }
    }
}
