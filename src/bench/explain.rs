//! The runs of start-ups that are explained: traced runs alternate with untraced ones, or those of two commands alternate.

use super::accepted::Accepted;
use super::campaign::{Campaign, Progress};
use super::error::ExperimentError;
use super::experiment::{Counting, Experiment, ExperimentEntry};
use super::prepared::Around;
use super::run_plan::RunPlan;
use super::sample::{BothKinds, Series};
use super::schedule::{Aim, RunLimit};
use crate::document::bench::{ColdMethod, ColdRuns, Warning};
use firstbyte_elf::{Architecture, plain};
use firstbyte_measure::arch::cpuid::{Cpuid, cpuid_cost};
use firstbyte_measure::launch::rights::{Rights, lost_under_ptrace};
use firstbyte_measure::launch::{Command, ExitStatus, KnownEnvironment, LaunchError, Until};
use firstbyte_measure::tracer::full::FullTracer;
use firstbyte_measure::tracer::ptrace::{NoCpuidCount, cpuid_count};
use firstbyte_measure::tracer::{BackendChoice, Recording};
use firstbyte_measure::units::Nanos;
use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// By default no more runs of a command than fit into this time, traced and untraced ones.
const PATIENCE: Duration = Duration::from_millis(1600);

const SMALLEST_RUNS: u32 = 12;

/// More CPUID instructions than any start executes.
const MANY_CPUIDS: u64 = 200;

/// How the runs are made, and what is explained of them.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each adds or leaves out a kind of run")]
pub struct ExplainPlan {
    /// The number of runs; `None`: as many as make sense.
    pub count: Option<u32>,
    /// One run of each kind is enough.
    pub quick: bool,
    /// Measure the observer overhead.
    pub overhead: bool,
    /// Make sampled runs that name the functions of user code.
    pub samples: bool,
    /// Ask language runtimes what they load, in one more run.
    pub runtimes: bool,
    pub along: Along,
    pub backend: BackendChoice,
    /// How each run is made.
    pub each_run: RunPlan,
    /// How the page cache is made cold before each traced run; `None`: it stays warm.
    pub cold: Option<ColdMethod>,
    /// The size of the BPF ring buffer in bytes.
    pub ring: Option<u32>,
    /// Seed of the order in which two commands alternate.
    pub seed: u64,
}

/// What the account follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Along {
    /// The threads that work while the others wait.
    #[default]
    CriticalPath,
    /// The tracee's main thread, waiting or not.
    MainThread,
}

/// The runs of one command.
#[derive(Debug, Default)]
pub struct ObservedRuns {
    /// The traced runs that count.
    pub recordings: Vec<Recording>,
    /// The round of each of these: two commands that alternate run once each in every round.
    pub rounds: Vec<u32>,
    /// Wall times of the traced runs, from the launch until they were reaped, in nanoseconds.
    pub traced: Vec<f64>,
    /// The same of the untraced runs.
    pub untraced: Vec<f64>,
    /// Median wall times of each block.
    pub blocks: Vec<BothKinds<f64>>,
    /// The variables that each run was started with.
    pub environment: KnownEnvironment,
    /// Why traced runs do not count.
    pub rejected: Vec<String>,
    /// The user interrupted it before all runs were made.
    pub interrupted: bool,
    /// How the first run, which was untraced, ended.
    pub untraced_exit: Option<ExitStatus>,
    /// The rights that the program's file gives it, and that a run under ptrace does not get.
    pub rights: Option<Rights>,
    /// The use of the processors by others meanwhile.
    pub interference: Vec<Warning>,
    /// How the page cache was made cold; `None`: it was warm.
    pub cold: Option<ColdRuns>,
    /// How many runs of it were made.
    pub executions: u64,
    /// The observer overhead was to be measured.
    pub overhead_wanted: bool,
    /// How each run must end.
    pub accepted: Accepted,
    /// What ended each run before the program exited.
    pub until: Option<Until>,
}

/// Runs a command as often as planned.
pub fn observe(
    command: Command,
    plan: &ExplainPlan,
    tracer: &mut FullTracer,
    progress: &mut dyn Progress,
) -> Result<ObservedRuns, ExperimentError> {
    let [observed] = observed([command], plan, plan.overhead, tracer, progress)?;
    Ok(observed)
}

/// Runs two commands as often as planned, each once in every round, in an order that the seed decides: drift affects both
/// alike. Only the first run of each is untraced.
pub fn observe_both(
    commands: [Command; 2],
    plan: &ExplainPlan,
    tracer: &mut FullTracer,
    progress: &mut dyn Progress,
) -> Result<[ObservedRuns; 2], ExperimentError> {
    observed(commands, plan, false, tracer, progress)
}

fn observed<const N: usize>(
    commands: [Command; N],
    plan: &ExplainPlan,
    overhead: bool,
    tracer: &mut FullTracer,
    progress: &mut dyn Progress,
) -> Result<[ObservedRuns; N], ExperimentError> {
    let rights = commands.each_ref().map(|command| lost_under_ptrace(command.program()));
    let environments = commands.each_ref().map(KnownEnvironment::of);
    let patience: Duration = commands.iter().map(|_| PATIENCE).sum();
    let limit = plan.count.map_or(RunLimit::Time(patience), RunLimit::Runs);
    let experiment = Experiment {
        entries: commands.into_iter().map(|command| entry(command, plan)).collect::<Result<_, _>>()?,
        // who wants one run gets one run
        campaign: Campaign {
            aim: Aim::Explain,
            limit,
            warmup: u32::from(plan.quick || plan.count != Some(1)),
            seed: plan.seed,
            overhead,
        },
        cold: plan.cold,
        env_offset: false,
        counting: Counting::default(),
    };

    let measured = experiment.run(tracer, progress)?;
    let interrupted = measured.is_partial();
    if interrupted && measured.series.iter().any(|series| series.samples.is_empty()) {
        return Err(LaunchError::Interrupted.into());
    }

    let (executions, interference) =
        (measured.executions / N as u64, measured.interference.warnings(&Value::Null));
    let (accepted, until) = (plan.each_run.accepted(), plan.each_run.until.clone());
    let mut sides = measured.series.into_iter().zip(rights.into_iter().zip(environments));
    Ok([(); N].map(|()| {
        let (series, (rights, environment)) = sides.next().unwrap_or_default();
        let interference = interference.clone();
        let until = until.clone();
        ObservedRuns {
            interrupted,
            rights,
            environment,
            interference,
            executions,
            overhead_wanted: overhead,
            accepted,
            until,
            ..ObservedRuns::from(series)
        }
    }))
}

impl From<Series> for ObservedRuns {
    fn from(series: Series) -> ObservedRuns {
        let blocks = BothKinds::medians(&series.blocks());
        let (rounds, recordings) = series.recordings.into_iter().unzip();
        ObservedRuns {
            blocks,
            traced: series.samples.iter().map(|sample| sample.wall.as_f64()).collect(),
            untraced: series.untraced.iter().map(|run| run.wall.as_f64()).collect(),
            rejected: series.rejected.into_iter().map(|rejected| rejected.reason).collect(),
            untraced_exit: series.untraced_exit,
            cold: series.cold,
            rounds,
            recordings,
            ..ObservedRuns::default()
        }
    }
}

pub(super) fn entry(command: Command, plan: &ExplainPlan) -> Result<ExperimentEntry, ExperimentError> {
    let name = command.words().join(" ");
    let mut tracee = plan.each_run.tracee(command)?;
    if plan.count == Some(1) {
        // no run before it shows whether it fills its pipe
        tracee.launcher.read_along();
    }
    Ok(ExperimentEntry {
        series: Series { name, ..Series::default() },
        tracee,
        around: Around { input: plan.each_run.input.clone(), ..Around::default() },
        reread: None,
    })
}

/// Runs the smallest executable in the same way. The additional time when it is traced is the cost of observing a start.
/// `None` if this machine cannot run it.
///
/// # Errors
/// Only if the user interrupts it.
pub fn observe_smallest(
    plan: &ExplainPlan,
    tracer: &mut FullTracer,
) -> Result<Option<ObservedRuns>, ExperimentError> {
    let Some(file) = smallest_in_memory() else { return Ok(None) };
    let program = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let each_run = RunPlan { input: None, until: None, ..plan.each_run.clone() };
    let plan = ExplainPlan { count: Some(SMALLEST_RUNS), cold: None, each_run, ..plan.clone() };
    let command = Command::new(&[program]).map_err(ExperimentError::from);
    match command.and_then(|command| observe(command, &plan, tracer, &mut ())) {
        Err(ExperimentError::Run(LaunchError::Interrupted)) => Err(LaunchError::Interrupted.into()),
        // for example if nothing in the folder may be executed
        observed => Ok(observed.ok()),
    }
}

/// It has no name in any folder, so nothing is left behind whenever firstbyte is killed.
fn smallest_in_memory() -> Option<File> {
    let mut file = File::from(memfd_create("firstbyte-smallest", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(&smallest_image()?).ok()?;
    Some(file)
}

fn smallest_image() -> Option<Vec<u8>> {
    plain::image(Architecture::host()?, b"hello world\n", Some(0)).ok()
}

/// hello world in the plain executable that is the floor of all programs. `None` if firstbyte
/// cannot write executables for the processor.
pub fn plain_elf(folder: &Path) -> Option<PathBuf> {
    let path = folder.join("plain");
    fs::write(&path, smallest_image()?).ok()?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).ok()?;
    Some(path)
}

/// The CPUID instructions of a command's start. They are counted only if each takes at least `trap`, and if they can
/// matter in a start that takes `total` nanoseconds.
pub fn count_cpuids(command: &Command, trap: Nanos, total: f64) -> Result<Option<Cpuid>, NoCpuidCount> {
    let each = cpuid_cost().filter(|each| *each >= trap);
    let each = each.filter(|each| (each.0 * MANY_CPUIDS) as f64 * 100.0 >= total);
    each.map(|each| Ok(Cpuid { each, executed: cpuid_count(command)? })).transpose()
}

#[cfg(test)]
mod tests {
    use super::super::place::Place;
    use super::super::run_plan::Destination;
    use super::*;
    use firstbyte_measure::launch::{Environment, Watch};

    #[test]
    fn only_the_output_of_a_single_run_is_read_along_from_the_start() {
        let watch = |count| {
            let each_run = RunPlan {
                output: Destination::default(),
                place: Place::default(),
                timeout: Duration::from_secs(60),
                input: None,
                until: None,
                accepted: Accepted::default(),
                environment: Environment::clean(),
            };
            let plan = ExplainPlan {
                count,
                quick: false,
                overhead: false,
                samples: false,
                runtimes: false,
                along: Along::default(),
                backend: BackendChoice::default(),
                each_run,
                cold: None,
                ring: None,
                seed: 0,
            };
            entry(Command::new(&["true"]).unwrap(), &plan).unwrap().tracee.launcher.watch()
        };
        assert_eq!([None, Some(1), Some(2)].map(watch), [Watch::Exit, Watch::Arrival, Watch::Exit]);
    }
}
