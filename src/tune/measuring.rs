//! Measures ways in alternating runs.

use super::plan::TunePlan;
use super::way::Way;
use crate::bench::results::{self, ComparedWith};
use crate::bench::{
    Adaptive, Aim, Campaign, Counting, Experiment, ExperimentEntry, ExperimentError, Measured, Progress,
    RunHooks, RunLimit, Series, plan_warnings,
};
use crate::document::Document;
use crate::document::bench::ColdMethod;
use firstbyte_measure::tracer::Backend;
use firstbyte_measure::tracer::phases::choose_phases;
use firstbyte_measure::units::Bytes;
use std::sync::Arc;

/// A way with a name of its own in the document.
pub(super) type NamedWay = (String, Way);

/// Measures these ways. Each must print what is expected.
pub(super) fn measured(
    plan: &TunePlan,
    ways: &[NamedWay],
    expected: Option<&Arc<[u8]>>,
    limit: Adaptive,
    progress: &mut dyn Progress,
) -> Result<Document, ExperimentError> {
    let mut chosen = choose_phases(plan.backend).map_err(ExperimentError::machine)?;
    let experiment = Experiment {
        entries: ways.iter().map(|way| entry(plan, way, expected)).collect::<Result<_, _>>()?,
        campaign: Campaign {
            aim: Aim::Time,
            limit: RunLimit::Adaptive(limit),
            warmup: 1,
            seed: plan.seed,
            overhead: false,
        },
        cold: plan.cold.then_some(ColdMethod::Copies),
        residence: plan.cold,
        env_offset: false,
        counting: Counting::default(),
    };
    let measured = experiment.run(&mut *chosen.tracer, progress)?;

    let mut document = results::finished(&results::header(&chosen), &measured, &ComparedWith::default());
    warn(&mut document, ways, &measured);
    Ok(document)
}

fn entry(
    plan: &TunePlan,
    (name, way): &NamedWay,
    expected: Option<&Arc<[u8]>>,
) -> Result<ExperimentEntry, ExperimentError> {
    let command = way.command()?;
    let program = command.program().to_owned();
    let mut tracee = plan.each_run.tracee(command)?;
    tracee.options.expected = expected.cloned();
    Ok(ExperimentEntry {
        series: Series {
            name: name.clone(),
            command: way.pasted(None),
            accepted: plan.each_run.accepted(),
            file_size: std::fs::metadata(&program).ok().map(|file| Bytes(file.len())),
            ..Series::default()
        },
        tracee,
        hooks: RunHooks {
            prepare: plan.prepare.clone(),
            conclude: None,
            input: plan.each_run.input.clone(),
            wants_iteration: false,
        },
        reread: Some(program),
    })
}

/// What must be known of the runs.
fn warn(document: &mut Document, ways: &[NamedWay], measured: &Measured) {
    let by_ptrace = document.tool.backend.as_deref() == Some(Backend::Ptrace.name());
    let rights =
        ways.iter().filter_map(|(name, way)| plan_warnings::of_rights(name, &way.words, by_ptrace, false));
    let stops = measured.series.iter().filter_map(plan_warnings::of_stops);
    let left = measured.series.iter().filter_map(plan_warnings::of_left_behind);
    let all = rights.chain(stops).chain(left).chain(measured.interference.warnings(&document.machine));
    let all: Vec<_> = all.collect();
    document.add_warnings(all);
}
