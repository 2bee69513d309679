//! Makes the runs: traced ones alternating with untraced ones, or those of two commands.

use crate::bench::{Aim, Around, Budget, Campaign, Counting, Entry, Experiment, Series, Tracee};
use crate::cli::trace::Runs;
use crate::commands::CommandError;
use crate::document::bench::Warning;
use crate::stats;
use firstbyte_measure::launch::rights::{Rights, lost_under_ptrace};
use firstbyte_measure::launch::{Command, ExitStatus, LaunchError, Launcher};
use firstbyte_measure::tracer::full::FullTracer;
use firstbyte_measure::tracer::{Recording, Setting};
use serde_json::Value;
use std::time::Duration;

/// By default no more runs of a command than fit into this time, traced ones alone.
const PATIENCE: Duration = Duration::from_secs(8);

/// The results of the runs of one command.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The traced runs that count.
    pub(crate) recordings: Vec<Recording>,
    /// The round to which each of these belongs: two commands that alternate run once each in every round.
    pub(crate) rounds: Vec<u32>,
    /// Walls of the traced runs: from the launch to the reaping, nanoseconds.
    pub(crate) traced: Vec<f64>,
    /// The same of the untraced runs.
    pub(crate) untraced: Vec<f64>,
    /// Median wall of each block, of its traced runs and of its untraced ones.
    pub(crate) blocks: Vec<[f64; 2]>,
    /// Why traced runs do not count.
    pub(crate) rejected: Vec<String>,
    /// It was interrupted before all runs were made.
    pub(crate) interrupted: bool,
    /// How the first run ended, which was untraced.
    pub(crate) untraced_exit: Option<ExitStatus>,
    /// The rights that the program's file gives it, and that a run under ptrace does not get.
    pub(crate) rights: Option<Rights>,
    /// Who else used the processors meanwhile.
    pub(crate) interference: Vec<Warning>,
}

/// Runs a command as often as planned.
pub(crate) fn observe(
    command: Command,
    runs: &Runs,
    tracer: &mut FullTracer,
) -> Result<Observed, CommandError> {
    let [observed] = observed([command], runs, runs.overhead, tracer)?;
    Ok(observed)
}

/// Runs two commands as often as planned, each once in every round, in an order that the seed decides: drift affects both
/// alike. Only the first run of each is untraced.
pub(crate) fn observe_in_turn(
    commands: [Command; 2],
    runs: &Runs,
    tracer: &mut FullTracer,
) -> Result<[Observed; 2], CommandError> {
    observed(commands, runs, false, tracer)
}

fn observed<const N: usize>(
    commands: [Command; N],
    runs: &Runs,
    overhead: bool,
    tracer: &mut FullTracer,
) -> Result<[Observed; N], CommandError> {
    let rights = commands.each_ref().map(|command| lost_under_ptrace(command.program()));
    let patience: Duration = commands.iter().map(|_| PATIENCE).sum();
    let budget = runs.count.map_or(Budget::Time(patience), Budget::Runs);

    let experiment = Experiment {
        entries: commands.into_iter().map(|command| entry(command, runs)).collect::<Result<_, _>>()?,
        campaign: Campaign { aim: Aim::Explain, budget, warmup: 1, seed: runs.seed, overhead },
        cold: None,
        env_offset: false,
        counting: Counting::default(),
    };

    let measured = experiment.run(tracer, &mut ())?;
    let interrupted = measured.is_partial();
    if interrupted && measured.series.iter().any(|series| series.samples.is_empty()) {
        return Err(LaunchError::Interrupted.into());
    }
    let interference = measured.interference.warnings(&Value::Null);
    let mut sides = measured.series.into_iter().zip(rights);
    Ok([(); N].map(|()| {
        let (series, rights) = sides.next().unwrap_or_default();
        let interference = interference.clone();
        Observed { interrupted, rights, interference, ..Observed::from(series) }
    }))
}

impl From<Series> for Observed {
    fn from(series: Series) -> Observed {
        let blocks = series.blocks();
        let medians =
            blocks.iter().filter_map(|(untraced, traced)| Some([median(traced)?, median(untraced)?]));
        let (rounds, recordings) = series.recordings.into_iter().unzip();
        Observed {
            blocks: medians.collect(),
            traced: series.samples.iter().map(|sample| sample.wall.as_f64()).collect(),
            untraced: series.untraced.iter().map(|run| run.wall.as_f64()).collect(),
            rejected: series.rejected.into_iter().map(|rejected| rejected.reason).collect(),
            untraced_exit: series.untraced_exit,
            rounds,
            recordings,
            ..Observed::default()
        }
    }
}

fn entry(command: Command, runs: &Runs) -> Result<Entry, CommandError> {
    let name = command.words().join(" ");
    let mut launcher = Launcher::new(command)?;
    if let Some(cpus) = &runs.cpus {
        launcher.set_cpus(cpus);
    }
    let setting = Setting { output: runs.output, timeout: Some(runs.timeout), ..Setting::default() };
    Ok(Entry {
        series: Series { name, ..Series::default() },
        tracee: Tracee { launcher, setting },
        around: Around::default(),
        settled: None,
    })
}

fn median(values: &[f64]) -> Option<f64> {
    stats::median(&stats::quantile::sorted(values)?)
}
