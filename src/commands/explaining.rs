//! What `trace` and `diff` share: a tracer, the explained runs of one command, and their exit status.

use super::progress::{ExperimentBar, Spinner};
use super::{CommandError, Exit, before_launching, export};
use crate::account::Explained;
use crate::account::explained::UsedTracer;
use crate::account::observer_costs::ObserverCosts;
use crate::bench::explain::{Along, ExplainPlan, observe, observe_smallest};
use crate::bench::runtimes::reports;
use crate::bench::sampling::sample;
use crate::bench::{ExperimentError, cold_runs};
use crate::output::Target;
use crate::report::formats::Format;
use firstbyte_measure::launch::{Command, LaunchError};
use firstbyte_measure::tracer::Tracer;
use firstbyte_measure::tracer::choose::ChooseError;
use firstbyte_measure::tracer::full::{FullTracer, choose_full};

/// An interrupted trace and a failing program are still explained, and the exit status shows it.
pub(super) fn exit(explained: &Explained) -> Exit {
    match explained.ended_well() {
        _ if explained.observed.interrupted => Exit::Interrupted,
        true => Exit::Done,
        false => Exit::ProgramFailed,
    }
}

/// What must be ready before any file is opened or any run is made.
pub(super) fn prepare(plan: &ExplainPlan, exports: &[(Format, Target)]) -> Result<(), CommandError> {
    export::check_targets(exports)?;
    plan.each_run.environment.clone().choose();
    let mut input = plan.each_run.input.iter();
    input.try_for_each(|input| export::spare(export::targets(exports), input))
}

/// The tracer, and why this one.
pub(super) fn choose(plan: &ExplainPlan) -> Result<(FullTracer, UsedTracer), CommandError> {
    plan.cold.iter().try_for_each(|method| cold_runs::enter(*method))?;
    before_launching();
    let chosen = choose_full(plan.backend, plan.ring).map_err(|error| match error {
        ChooseError::NoCalls => CommandError::usage(error),
        error => CommandError::unable(error),
    })?;
    let used = UsedTracer {
        backend: chosen.tracer.backend(),
        reason: chosen.reason,
        sees_faults: chosen.tracer.sees_faults(),
    };
    Ok((chosen.tracer, used))
}

/// The traced runs of one command.
pub(super) fn traced(
    command: Command,
    plan: &ExplainPlan,
    tracer: &mut FullTracer,
    used: UsedTracer,
) -> Result<Explained, CommandError> {
    let name = command.words().join(" ");
    let observed = observe(command, plan, tracer, &mut ExperimentBar::of("tracing", None))?;
    Explained::of(&name, observed, used, plan.along).map_err(CommandError::program)
}

/// The traced runs of one command, and its functions.
pub(super) fn explain(
    command: Command,
    plan: &ExplainPlan,
    tracer: &mut FullTracer,
    used: UsedTracer,
) -> Result<Explained, CommandError> {
    let mut explained = traced(command.clone(), plan, tracer, used)?;
    add_samples(&mut explained, command, plan)?;
    Ok(explained)
}

/// Names the functions of user code by runs beside the traced ones.
pub(super) fn add_samples(
    explained: &mut Explained,
    command: Command,
    plan: &ExplainPlan,
) -> Result<(), CommandError> {
    // who wants one run gets one run
    let only_one = plan.count == Some(1) && !plan.quick;
    if !plan.samples || only_one || explained.observed.interrupted {
        return Ok(());
    }
    match sample(command, plan, explained.expected(), &mut ExperimentBar::of("sampling", None)) {
        Ok(sampled) => explained.add_samples(sampled),
        Err(ExperimentError::Run(LaunchError::Interrupted)) => explained.observed.interrupted = true,
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Asks the language runtimes what they load.
pub(super) fn add_reports(
    explained: &mut Explained,
    command: &Command,
    plan: &ExplainPlan,
) -> Result<(), CommandError> {
    let runtimes = explained.runtimes();
    // a run that ends at a moment has no whole output, and a cold one no comparable time
    let is_whole = plan.each_run.until.is_none() && plan.cold.is_none() && plan.count != Some(1);
    if !plan.runtimes || !is_whole || explained.observed.interrupted || runtimes.is_empty() {
        return Ok(());
    }
    match reports(command, plan, &runtimes) {
        Ok(reports) => explained.add_reports(reports),
        Err(ExperimentError::Run(LaunchError::Interrupted)) => explained.observed.interrupted = true,
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// The cost of observing; `None` if this backend cannot measure it.
pub(super) fn observer_costs(
    plan: &ExplainPlan,
    tracer: &mut FullTracer,
    used: &UsedTracer,
) -> Result<Option<ObserverCosts>, CommandError> {
    let _working = Spinner::new("calibrating");
    let Some(each) = tracer.event_costs().map_err(CommandError::unable)? else { return Ok(None) };
    let smallest = observe_smallest(plan, tracer)?;
    let smallest =
        smallest.and_then(|observed| Explained::of("", observed, used.clone(), Along::CriticalPath).ok());
    let runs = smallest.as_ref().map(|smallest| (&smallest.observed, &smallest.summary));
    Ok(Some(ObserverCosts::new(each, runs)))
}
