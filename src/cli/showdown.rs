//! `firstbyte showdown`: its arguments, and the plan that they amount to.

use super::common::{CacheArgs, ExportArgs, Format, MeasuringArgs, duration};
use crate::bench::Budget;
use crate::document::bench::ColdMethod;
use crate::output::Target;
use firstbyte_measure::launch::{CpuSet, OutputKind};
use firstbyte_measure::tracer::Choice;
use firstbyte_measure::units::Nanos;
use std::path::PathBuf;
use std::time::Duration;

/// Builds, verifies and measures hello world in many languages, and prints the table.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Runs of each program (default: as many as fit the time)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: Option<u32>,
    /// Unmeasured rounds before the measured ones
    #[arg(short, long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    warmup: u32,
    /// About 20 seconds in all, once everything is built
    #[arg(long, conflicts_with = "runs")]
    quick: bool,
    /// These programs (may be repeated; `--list` shows all)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Programs with this tag (may be repeated)
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tag: Vec<String>,
    /// A folder with further programs, a subfolder with a program.toml each
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// List the programs and stop
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    cache: CacheArgs,
    /// Print the share of runs whose first byte came sooner, such as 20ms; a plain number means seconds
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    threshold: Option<Duration>,
    /// Leave out the untraced runs by which the observer overhead is measured
    #[arg(long)]
    no_overhead: bool,
    /// Leave out the counting runs (system calls, page faults, memory)
    #[arg(long)]
    no_counts: bool,
    #[command(flatten)]
    exports: ExportArgs,
}

/// What a showdown is to do, checked as far as arguments can be.
#[derive(Debug)]
pub struct Plan {
    /// How long, or how often.
    pub budget: Budget,
    /// Unmeasured rounds first.
    pub warmup: u32,
    /// The names of the programs that are wanted.
    pub names: Vec<String>,
    /// The tags of those that are wanted. Neither names nor tags: all but the optional ones.
    pub tags: Vec<String>,
    /// A folder with further programs.
    pub corpus: Option<PathBuf>,
    /// Only list them.
    pub list: bool,
    /// How the page cache is made cold; `None`: it stays warm.
    pub cold: Option<ColdMethod>,
    /// Which backend was asked for.
    pub backend: Choice,
    /// What stdout is.
    pub output: OutputKind,
    /// Where the programs may run.
    pub cpus: Option<CpuSet>,
    /// When a run is killed.
    pub timeout: Duration,
    /// The share of runs below this is wanted.
    pub threshold: Option<Nanos>,
    /// The seed of the order.
    pub seed: u64,
    /// Measure the observer overhead.
    pub overhead: bool,
    /// Count system calls and page faults.
    pub counts: bool,
    /// Where results go.
    pub exports: Vec<(Format, Target)>,
}

/// How long a showdown takes by default, once everything is built.
const DEFAULT_TIME: Duration = Duration::from_secs(75);
/// And with `--quick`.
const QUICK_TIME: Duration = Duration::from_secs(13);
/// When a run is killed.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

impl Args {
    /// The plan.
    pub fn plan(self) -> Plan {
        let budget = match (self.runs, self.quick) {
            (Some(runs), _) => Budget::Runs(runs),
            (None, true) => Budget::Time(QUICK_TIME),
            (None, false) => Budget::Time(DEFAULT_TIME),
        };
        let measuring = self.measuring;
        Plan {
            budget,
            warmup: self.warmup,
            names: self.only,
            tags: self.tag,
            corpus: self.corpus,
            list: self.list,
            cold: self.cache.cold(),
            backend: measuring.backend(),
            output: measuring.output(),
            cpus: measuring.cpus.clone(),
            timeout: measuring.timeout.unwrap_or(DEFAULT_TIMEOUT),
            threshold: self.threshold.map(|d| Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))),
            seed: measuring.seed,
            overhead: !self.no_overhead,
            counts: !self.no_counts,
            exports: self.exports.targets(),
        }
    }
}
