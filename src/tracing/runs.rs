//! The runs of start-ups that are explained: traced runs alternate with untraced ones, or those of two commands alternate.

use super::TracePlan;
use crate::analysis::runs::ObservedRuns;
use crate::bench::{
    Aim, Campaign, Counting, Experiment, ExperimentEntry, ExperimentError, Progress, RunHooks, RunLimit,
    RunPlan, Series, smallest,
};
use firstbyte_measure::arch::cpuid::{Cpuid, cpuid_cost};
use firstbyte_measure::launch::rights::lost_under_ptrace;
use firstbyte_measure::launch::{Command, KnownEnvironment, LaunchError};
use firstbyte_measure::tracer::full::FullTracer;
use firstbyte_measure::tracer::ptrace::{NoCpuidCount, cpuid_count};
use firstbyte_measure::units::Nanos;
use serde_json::Value;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

/// By default no more runs of a command than fit into this time, traced and untraced ones.
const OBSERVING_TIMEOUT: Duration = Duration::from_millis(1600);

const SMALLEST_RUNS: u32 = 12;

/// More CPUID instructions than any start executes.
const MAX_CPUIDS: u64 = 200;

/// Runs each command as often as planned, once in every round, in an order that the seed decides: drift affects all alike.
/// Blocks of traced rounds alternate with blocks of untraced ones, if the plan wants that.
pub(super) fn observe<const N: usize>(
    commands: [Command; N],
    plan: &TracePlan,
    tracer: &mut dyn FullTracer,
    progress: &mut dyn Progress,
) -> Result<[ObservedRuns; N], ExperimentError> {
    let rights = commands.each_ref().map(|command| lost_under_ptrace(command.program()));
    let environments = commands.each_ref().map(KnownEnvironment::of);
    let patience: Duration = commands.iter().map(|_| OBSERVING_TIMEOUT).sum();
    let limit = plan.count.map_or(RunLimit::Time(patience), RunLimit::Runs);
    let entries = commands.into_iter().map(|command| entry(command, plan)).collect::<Result<_, _>>()?;
    // who wants one run gets one run
    let warmup = u32::from(plan.quick || plan.count != Some(1));
    let campaign = Campaign { aim: Aim::Explain, limit, warmup, seed: plan.seed, overhead: plan.overhead };
    let experiment = Experiment { cold: plan.cold, ..experiment(entries, campaign) };

    let measured = experiment.run(tracer, progress)?;
    let interrupted = measured.is_partial();
    if interrupted && measured.series.iter().any(|series| series.samples.is_empty()) {
        return Err(LaunchError::Interrupted.into());
    }

    let (executions, interference) =
        (measured.executions / N as u64, measured.interference.warnings(&Value::Null));
    let (accepted, until) = (plan.each_run.accepted(), plan.each_run.until.clone());
    let region = plan.each_run.region.clone();
    let mut sides = measured.series.into_iter().zip(rights.into_iter().zip(environments));
    Ok([(); N].map(|()| {
        let (series, (rights, environment)) = sides.next().unwrap_or_default();
        let interference = interference.clone();
        let (until, region) = (until.clone(), region.clone());
        ObservedRuns {
            interrupted,
            rights,
            environment,
            interference,
            executions,
            overhead_wanted: plan.overhead,
            accepted,
            until,
            region,
            mark: plan.mark.clone(),
            ..ObservedRuns::from(series)
        }
    }))
}

/// An experiment with a warm page cache that counts nothing.
pub(super) fn experiment(entries: Vec<ExperimentEntry>, campaign: Campaign) -> Experiment {
    Experiment {
        entries,
        campaign,
        cold: None,
        residence: false,
        env_offset: false,
        counting: Counting::default(),
    }
}

pub(super) fn entry(command: Command, plan: &TracePlan) -> Result<ExperimentEntry, ExperimentError> {
    let name = command.words().join(" ");
    let mut tracee = plan.each_run.tracee(command)?;
    if plan.count == Some(1) {
        // no run before it shows whether it fills its pipe
        tracee.launcher.read_along();
    }
    Ok(ExperimentEntry {
        series: Series { name, ..Series::default() },
        tracee,
        hooks: RunHooks { input: plan.each_run.input.clone(), ..RunHooks::default() },
        reread: None,
    })
}

/// Runs the smallest executable in the same way. The additional time when it is traced is the cost of observing a start.
/// `None` if this machine cannot run it.
///
/// # Errors
/// Only if the user interrupts it.
pub(super) fn observe_smallest(
    plan: &TracePlan,
    tracer: &mut dyn FullTracer,
) -> Result<Option<ObservedRuns>, ExperimentError> {
    let Some(file) = smallest::in_memory() else { return Ok(None) };
    let program = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let each_run = RunPlan { input: None, until: None, region: None, ..plan.each_run.clone() };
    let plan = TracePlan {
        count: Some(SMALLEST_RUNS),
        overhead: true,
        cold: None,
        mark: None,
        each_run,
        ..plan.clone()
    };
    let command = Command::new(&[program]).map_err(ExperimentError::from);
    match command.and_then(|command| observe([command], &plan, tracer, &mut ())) {
        Err(ExperimentError::Run(LaunchError::Interrupted)) => Err(LaunchError::Interrupted.into()),
        // for example if nothing in the folder may be executed
        observed => Ok(observed.ok().map(|[observed]| observed)),
    }
}

/// The CPUID instructions of a command's start. They are counted only if each takes at least `trap`, and if they can
/// matter in a start that takes `total` nanoseconds.
pub(super) fn count_cpuids(
    command: &Command,
    trap: Nanos,
    total: f64,
) -> Result<Option<Cpuid>, NoCpuidCount> {
    let each = cpuid_cost().filter(|each| *each >= trap);
    let each = each.filter(|each| (each.0 * MAX_CPUIDS) as f64 * 100.0 >= total);
    each.map(|each| Ok(Cpuid { each, executed: cpuid_count(command)? })).transpose()
}

#[cfg(test)]
mod tests {
    use super::super::Beside;
    use super::*;
    use crate::analysis::profile::By;
    use crate::analysis::runs::Along;
    use crate::bench::{Accepted, Destination, LookForMarks, Placement};
    use firstbyte_measure::launch::{Environment, Watch};
    use firstbyte_measure::tracer::BackendChoice;
    use firstbyte_measure::tracer::event::WantedContents;

    #[test]
    fn only_the_output_of_a_single_run_is_read_along_from_the_start() {
        let watch = |count| {
            let each_run = RunPlan {
                output: Destination::default(),
                placement: Placement::default(),
                timeout: Duration::from_secs(60),
                input: None,
                until: None,
                region: None,
                marks: LookForMarks::Never,
                accepted: Accepted::default(),
                environment: Environment::clean(),
            };
            let plan = TracePlan {
                count,
                quick: false,
                overhead: false,
                beside: Beside::default(),
                along: Along::default(),
                by: By::default(),
                mark: None,
                backend: BackendChoice::default(),
                contents: WantedContents::default(),
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
