//! Arguments and plan of `firstbyte bench`.

mod commands;
mod parameters;
#[cfg(test)]
mod tests;

pub use commands::Benchmark;

use super::environment::EnvironmentArgs;
use super::export::ExportArgs;
use super::options::{CacheArgs, JsonArgs, MeasuringArgs, output as output_of};
use super::region::RegionArgs;
use super::running::RunningArgs;
use super::style::{Style, StyleArgs};
use super::values::{duration, nanos, percent, whole, writable};
use crate::bench::{Adaptive, Destination, LookForMarks, RunLimit, RunPlan};
use crate::document::Kind;
use crate::document::bench::{ColdMethod, Metric};
use crate::document::metrics::Selection;
use crate::output::Target;
use crate::report::formats::Format;
use clap::ArgAction;
use commands::CommandArgs;
use firstbyte_measure::launch::{OutputKind, Until};
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::units::Nanos;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  firstbyte bench ./old ./new
  firstbyte bench --prepare 'rm -f cache' -n build 'make -s'
  firstbyte bench -L lines 10,1000 'seq {lines}'
  firstbyte bench --until READY --output pty ./server
  firstbyte bench --cache cold ./hello";

/// Measure the start-up of one or more commands, and compare them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("output", of_each_command))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    #[command(flatten)]
    commands: CommandArgs,
    /// Run each command N times before the measured runs, and fast commands up to 16 times, until the tracer has settled;
    /// with 0 there are no untraced runs either [default: 1; with --runs 1: 0]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(0..=100_000))]
    warmup: Option<u32>,
    /// Run each command exactly N times [default: until --precision, --time or --max-runs is reached]
    #[arg(short, long, value_name = "N", conflicts_with_all = ["min_runs", "max_runs", "time", "precision"], value_parser = whole::<u32>(1..=1_000_000))]
    runs: Option<u32>,
    /// Run each command at least N times
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = whole::<u32>(1..=1_000_000))]
    min_runs: u32,
    /// Run each command at most N times [default: 2000, or --min-runs]
    #[arg(short = 'M', long, value_name = "N", value_parser = whole::<u32>(1..=1_000_000))]
    max_runs: Option<u32>,
    /// Stop after DURATION, such as 500ms or 2m; a number without a unit is in seconds [default: 3s for each command]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    time: Option<Duration>,
    /// Measure for at least SECONDS for each command, even if the medians are precise before
    #[arg(long, value_name = "SECONDS", value_parser = duration, conflicts_with = "runs")]
    min_benchmarking_time: Option<Duration>,
    /// Stop once half of the 95 % interval of every median is at most PERCENT
    #[arg(long, value_name = "PERCENT", default_value = "0.5", value_parser = percent)]
    precision: f64,
    /// Show these metrics, in this order, in the text and in the tables of --export-csv, -markdown, -asciidoc and
    /// -orgmode: a preset (default, time, all, overdone), or a list such as `total:ms,first_byte,syscalls`; an unknown name
    /// lists all
    #[arg(long, value_name = "PRESET|METRIC[:UNIT],…", default_value = "default", hide_default_value = true)]
    metrics: Selection,
    /// Compare this time in the summary [default: total, or the region of --from and --to]
    #[arg(long, value_name = "TIME")]
    compare_by: Option<MetricArg>,
    #[command(flatten)]
    region: RegionArgs,
    /// Look for marks in every run, also if the first run of the warm-up has none; see docs/marks.md
    #[arg(long)]
    marks: bool,
    /// End each run at the mark NAME, and stop the program; there are no untraced runs then, and no CPU times or hardware
    /// counters; see docs/marks.md
    #[arg(long, value_name = "NAME", conflicts_with_all = ["until", "until_first_byte", "until_port", "until_ready", "from", "to"])]
    until_mark: Option<String>,
    /// Exit with status 1 if a command is slower than the reference by more than PERCENT, with 99 % confidence; the time is
    /// that of --compare-by
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_if_slower: Option<f64>,
    /// Print the share of runs whose first byte came within DURATION, such as 20ms
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    threshold: Option<Duration>,
    /// Let the programs write to firstbyte's own stdout and stderr; same as --output inherit
    #[arg(long, conflicts_with = "output")]
    show_output: bool,
    /// Vary the size of the environment from run to run, and with it the address at which the stack starts
    #[arg(long)]
    env_offset: bool,
    /// Skip the untraced runs that measure the observer overhead (about one for three measured runs), and those discarded
    /// after each change
    #[arg(long)]
    no_overhead: bool,
    /// Skip the runs that count system calls, page faults and memory: 3 of each command (1 with --runs 1), and as many
    /// each for the hardware counters of the program and of the kernel
    #[arg(long)]
    no_counts: bool,
    /// Count for at most DURATION for each command; counting makes each system call many times slower [default: as long as
    /// its timed runs took, at least 2s]
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "no_counts")]
    count_time: Option<Duration>,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    running: RunningArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
    #[command(flatten)]
    environment: EnvironmentArgs,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Bench as usize }>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum MetricArg {
    Total,
    FirstByte,
    User,
    Region,
}

/// What is to be measured, and how.
#[derive(Debug)]
pub struct Plan {
    pub benchmarks: Vec<Benchmark>,
    /// The index of the command that the others are compared with.
    pub reference: usize,
    /// The index of the command whose time is subtracted from the others'.
    pub subtract: Option<usize>,
    /// The gate, as a fraction: 0.05 for 5 %.
    pub fail_if_slower: Option<f64>,
    pub compare_by: Metric,
    /// The metrics that are shown.
    pub metrics: Selection,
    /// How the results and the progress look.
    pub style: Style,
    /// How each run is made.
    pub each_run: RunPlan,
    /// Print the share of runs whose first byte came within this time.
    pub threshold: Option<Nanos>,
    /// How long to measure, or how often.
    pub limit: RunLimit,
    /// The number of rounds before the measured ones.
    pub warmup: u32,
    /// The size of the environment varies from run to run.
    pub env_offset: bool,
    /// The states of the page cache in which everything is measured: how it is made cold, `None` if it stays warm.
    pub caches: Vec<Option<ColdMethod>>,
    pub backend: BackendChoice,
    /// The seed of the random order.
    pub seed: u64,
    /// Measure the observer overhead.
    pub overhead: bool,
    /// The number of counting runs of each program: system calls, page faults, memory.
    pub count_runs: u32,
    /// The maximum time for them; `None`: as long as the timed runs took.
    pub count_time: Option<Duration>,
    pub exports: Vec<(Format, Target)>,
}

impl Plan {
    /// Times and counts of these programs in warm runs, compared with the first, without untraced runs.
    pub(super) fn plain(benchmarks: Vec<Benchmark>, each_run: RunPlan, measuring: &MeasuringArgs) -> Plan {
        Plan {
            benchmarks,
            reference: 0,
            subtract: None,
            compare_by: Metric::Total,
            fail_if_slower: None,
            metrics: Selection::default(),
            style: Style::default(),
            each_run,
            threshold: None,
            limit: RunLimit::Runs(1),
            warmup: 1,
            env_offset: false,
            caches: vec![None],
            backend: measuring.backend(),
            seed: measuring.seed(),
            overhead: false,
            count_runs: COUNT_RUNS,
            count_time: None,
            exports: Vec::new(),
        }
    }
}

/// For `--output` of commands that may each have their own.
fn of_each_command(output: clap::Arg) -> clap::Arg {
    let help = "Connect the programs' stdout to WHERE: null, pipe, pty, file (a temporary file), inherit (firstbyte's own stdout \
         and stderr), or a file of yours, whose path has a slash (give it once for all commands, or once for each)";
    output.action(ArgAction::Append).value_parser(output_of).value_name("WHERE").help(help)
}

/// Whether programs write to our own stdout.
fn is_shown(outputs: &[Destination]) -> bool {
    outputs.iter().any(|output| output.kind == OutputKind::Inherit)
}

/// What programs print must not be mixed with results.
fn check_stdout(outputs: &[Destination], exports: &[(Format, Target)]) -> Result<(), String> {
    let exported = exports.iter().any(|(_, target)| target.is_stdout());
    if is_shown(outputs) && exported {
        return Err("the output of the programs and an export would both go to stdout\n\
                    help: export to a file, or use --output pipe"
            .to_owned());
    }
    Ok(())
}

/// The default time for each command.
const TIME_EACH: Duration = Duration::from_secs(3);

/// More runs hardly make medians more precise.
const MAX_RUNS: u32 = 2000;

/// Enough for a median: counts hardly vary.
const COUNT_RUNS: u32 = 3;

impl Args {
    /// The plan, or an error that ends in its `help:` line.
    pub fn plan(self) -> Result<Plan, String> {
        let outputs = self.outputs()?;
        let commands = self.commands.plan(self.environment.assignments(), &outputs)?;
        let exports = self.exports.clone().targets_with(&self.json);
        check_stdout(&outputs, &exports)?;
        let style = self.style.style();

        Ok(Plan {
            each_run: self.each_run(&outputs)?,
            limit: self.limit(commands.benchmarks.len())?,
            reference: commands.reference,
            subtract: commands.subtract,
            compare_by: self.compare_by()?,
            fail_if_slower: self.gate(commands.benchmarks.len())?,
            benchmarks: commands.benchmarks,
            metrics: self.metrics,
            style: Style { progress: style.progress && !is_shown(&outputs), ..style },
            threshold: self.threshold.map(nanos),
            warmup: self.warmup.unwrap_or(u32::from(self.runs != Some(1))),
            env_offset: self.env_offset,
            caches: self.cache.states(),
            backend: self.measuring.backend(),
            seed: self.measuring.seed(),
            // untraced runs do not see the mark
            overhead: !self.no_overhead && self.until_mark.is_none(),
            count_runs: match self.runs {
                _ if self.no_counts => 0,
                Some(1) => 1,
                _ => COUNT_RUNS,
            },
            count_time: self.count_time,
            exports,
        })
    }

    /// The time by which commands are compared.
    fn compare_by(&self) -> Result<Metric, String> {
        let usual = if self.region.is_wanted() { MetricArg::Region } else { MetricArg::Total };
        match self.compare_by.unwrap_or(usual) {
            MetricArg::Total => Ok(Metric::Total),
            MetricArg::FirstByte => Ok(Metric::FirstByte),
            MetricArg::User if self.until_mark.is_some() => {
                Err("the CPU time up to a mark is not known\nhelp: --compare-by total".to_owned())
            }
            MetricArg::User => Ok(Metric::User),
            MetricArg::Region if self.region.is_wanted() => Ok(Metric::Region),
            MetricArg::Region => Err("there is no region to compare by\n\
                                      help: name its texts, as in --from 'before' --to 'after'"
                .to_owned()),
        }
    }

    /// The part by which no command may be slower than the reference.
    fn gate(&self, commands: usize) -> Result<Option<f64>, String> {
        if self.fail_if_slower.is_some() && commands < 2 {
            return Err("--fail-if-slower compares commands, and there is only one\n\
                        help: firstbyte bench --fail-if-slower 5% REFERENCE COMMAND"
                .to_owned());
        }
        Ok(self.fail_if_slower)
    }

    /// Where the output of the commands goes: one for all, or one for each.
    fn outputs(&self) -> Result<Vec<Destination>, String> {
        let given = self.measuring.outputs().to_vec();
        let outputs = if self.show_output { vec![Destination::from(OutputKind::Inherit)] } else { given };
        let files = || outputs.iter().filter_map(|output| output.file.as_deref());
        if !self.commands.run_before() {
            files().try_for_each(writable)?;
        }
        Ok(outputs)
    }

    /// How each run is made, if its output goes to the first of these. All of them must be possible.
    fn each_run(&self, outputs: &[Destination]) -> Result<RunPlan, String> {
        let plan = |output: &Destination| {
            let environment = self.environment.without_assignments();
            let region = self.region.region(output.kind)?;
            let may_be_made = self.commands.run_before();
            let plan = self.running.plan(output.clone(), &self.measuring, environment, may_be_made)?;
            let until = self.until_mark()?.or(plan.until);
            let is_needed = self.marks || matches!(until, Some(Until::Mark(_)));
            let marks = if is_needed { LookForMarks::Always } else { plan.marks };
            Ok::<_, String>(RunPlan { until, region, marks, ..plan })
        };
        let mut plans = outputs.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        Ok(plans.swap_remove(0))
    }

    /// The mark that ends each run.
    fn until_mark(&self) -> Result<Option<Until>, String> {
        let Some(name) = &self.until_mark else { return Ok(None) };
        if name.trim().is_empty() {
            return Err(
                "the name of `--until-mark` is empty\nhelp: --marks measures up to each mark".to_owned()
            );
        }
        if self.measuring.backend() == BackendChoice::Pipe {
            return Err("`--until-mark` needs a backend that sees marks\nhelp: --backend ptrace".to_owned());
        }
        Ok(Some(Until::Mark(name.trim().into())))
    }

    fn limit(&self, commands: usize) -> Result<RunLimit, String> {
        if let Some(runs) = self.runs {
            return Ok(RunLimit::Runs(runs));
        }
        let (min, max) = (self.min_runs, self.max_runs.unwrap_or(MAX_RUNS.max(self.min_runs)));
        if min > max {
            return Err(format!(
                "--min-runs {min} is more than --max-runs {max}\nhelp: firstbyte bench --min-runs {max} --max-runs {min} …"
            ));
        }

        let all = |each: Duration| each.saturating_mul(u32::try_from(commands).unwrap_or(u32::MAX));
        let least_time = all(self.min_benchmarking_time.unwrap_or_default());
        Ok(RunLimit::Adaptive(Adaptive {
            least: min,
            most: max,
            least_time,
            time: self.time.unwrap_or(all(TIME_EACH)).max(least_time),
            limit: None,
            precision: self.precision,
        }))
    }
}
