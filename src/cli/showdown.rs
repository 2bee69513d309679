//! Arguments and plan of `firstbyte showdown`.

use super::environment::InheritEnvArgs;
use super::export::ExportArgs;
use super::options::{CacheArgs, JsonArgs, MeasuringArgs};
use super::values::{duration, nanos, whole};
use crate::bench::{Placement, RunLimit};
use crate::corpus::Selection;
use crate::document::Kind;
use crate::document::bench::ColdMethod;
use crate::output::Target;
use crate::report::formats::Format;
use firstbyte_measure::launch::{Environment, OutputKind};
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::units::Nanos;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  firstbyte showdown --quick
  firstbyte showdown --only c-printf,go,python --runs 100
  firstbyte showdown --language python --versions
  firstbyte showdown --cache cold --tag plain --html report.html";

/// Build, verify and measure hello world in many languages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("timeout", |timeout| timeout.default_value("10s")))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Run each program N times [default: as often as about 75 seconds allow]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(1..=1_000_000))]
    runs: Option<u32>,
    /// Run each program N times before the measured runs; 0: no such run, and no untraced runs either [default: 2, or 0
    /// with --runs 1]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(0..=10_000))]
    warmup: Option<u32>,
    /// Take about 20 seconds in total, not counting builds
    #[arg(long, conflicts_with = "runs")]
    quick: bool,
    /// Measure all programs that this machine has the tools for, not only the core: `firstbyte doctor --install --all`
    #[arg(long)]
    all: bool,
    /// Measure only these programs (can be repeated; * and ? are wildcards; --list --all shows all names)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Measure only programs with this tag, and those of --only (can be repeated); a group such as jvm is a tag
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tag: Vec<String>,
    /// Measure only the programs of this language, and those of --only and --tag (can be repeated)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    language: Vec<String>,
    /// Measure these programs with every installed version of their interpreter, of the distribution and of version managers
    /// such as pyenv, uv, nvm, rbenv and SDKMAN
    #[arg(long)]
    versions: bool,
    /// Add the programs of DIR, which has one subfolder with a program.toml for each
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// List the programs and exit
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    environment: InheritEnvArgs,
    #[command(flatten)]
    cache: CacheArgs,
    /// Print the share of runs whose first byte came within DURATION, such as 20ms
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    threshold: Option<Duration>,
    /// Skip the untraced runs that measure the observer overhead
    #[arg(long)]
    no_overhead: bool,
    /// Skip the runs that count system calls, page faults and memory
    #[arg(long)]
    no_counts: bool,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Bench as usize }>,
}

#[derive(Debug)]
pub struct Plan {
    /// How long to measure, or how often.
    pub limit: RunLimit,
    /// The number of rounds before the measured ones.
    pub warmup: u32,
    pub selection: Selection,
    pub corpus: Option<PathBuf>,
    pub list: bool,
    /// The states of the page cache in which everything is measured: how it is made cold, `None` if it stays warm.
    pub caches: Vec<Option<ColdMethod>>,
    pub backend: BackendChoice,
    pub output: OutputKind,
    /// The environment of the programs.
    pub environment: Environment,
    pub placement: Placement,
    /// The time after which a run is killed.
    pub timeout: Duration,
    /// Print the share of runs whose first byte came within this time.
    pub threshold: Option<Nanos>,
    /// The seed of the random order.
    pub seed: u64,
    /// Measure the observer overhead.
    pub overhead: bool,
    /// Count system calls and page faults.
    pub counts: bool,
    pub exports: Vec<(Format, Target)>,
}

/// Rounds before the measured runs.
const WARMUP: u32 = 2;
/// The time for the measured runs.
const DEFAULT_TIME: Duration = Duration::from_secs(75);
/// The time for the measured runs with `--quick`.
const QUICK_TIME: Duration = Duration::from_secs(13);

impl Args {
    pub fn plan(self) -> Plan {
        let limit = match (self.runs, self.quick) {
            (Some(runs), _) => RunLimit::Runs(runs),
            (None, true) => RunLimit::Time(QUICK_TIME),
            (None, false) => RunLimit::Time(DEFAULT_TIME),
        };

        let measuring = self.measuring;
        Plan {
            limit,
            warmup: self.warmup.unwrap_or(if self.runs == Some(1) { 0 } else { WARMUP }),
            selection: Selection {
                names: self.only,
                tags: self.tag,
                languages: self.language,
                all: self.all,
                versions: self.versions,
            },
            corpus: self.corpus,
            list: self.list,
            caches: self.cache.states(),
            backend: measuring.backend(),
            output: measuring.output().kind,
            environment: self.environment.environment(),
            placement: measuring.placement(),
            timeout: measuring.timeout(),
            threshold: self.threshold.map(nanos),
            seed: measuring.seed(),
            overhead: !self.no_overhead,
            counts: !self.no_counts,
            exports: self.exports.targets_with(&self.json),
        }
    }
}
