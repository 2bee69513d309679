//! `firstbyte bench`: commands of the user, timed and compared.

use super::bench_experiment::experiment;
use super::per_cache_state::PerCacheState;
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::bench::results::{self, ComparedWith};
use crate::bench::{Measured, cold_runs, hooks, plan_warnings};
use crate::cli::bench::Plan;
use crate::document::Document;
use crate::document::bench::Warning;
use crate::output::{say, visible};
use crate::report::formats::Exported;
use crate::report::text::terminal::Terminal;
use crate::report::text::{bench as bench_text, gate};
use crate::report::words::count_of;
use firstbyte_measure::launch::{interrupt, ourselves};
use firstbyte_measure::tracer::choose::Chosen;
use firstbyte_measure::tracer::phases::choose_phases;
use firstbyte_measure::tracer::{Backend, Tracer};

/// Measures the commands and prints their times.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let document = measured(plan)?;
    let exported = export::write(&plan.exports, &Exported::Bench(&document), true);
    if plan.style.results && !export::takes_stdout(&plan.exports) {
        let terminal = terminal();
        let terminal = Terminal { colour: plan.style.colours.unwrap_or(terminal.colour), ..terminal };
        show(bench_text::render(&document, &terminal).as_bytes())?;
        if let Some(limit) = plan.fail_if_slower {
            show(format!("\n{}", gate::verdict(&document.slower_than(limit), limit, &terminal)).as_bytes())?;
        }
    } else if let Some(limit) = plan.fail_if_slower {
        // stdout has a document, or nothing was wanted there
        say(format_args!("{}", gate::verdict(&document.slower_than(limit), limit, &terminal()).trim_end()));
    }
    exported?;
    if !plan.style.results {
        tell_failures(&document, plan);
    }
    let is_slower = plan.fail_if_slower.is_some_and(|limit| !document.slower_than(limit).is_empty());
    Ok(match exit(&document) {
        Exit::Done if is_slower => Exit::Missed,
        Exit::Done if plan.fail_if_slower.is_some() && document.uncompared() > 0 => {
            say(format_args!("error: {}", uncompared(&document)));
            Exit::Unable
        }
        other => other,
    })
}

/// Why a gate does not pass although no program is slower.
fn uncompared(document: &Document) -> String {
    let programs = count_of(document.uncompared(), "program has", "programs have");
    let by = document.compared_by().name();
    format!(
        "{programs} no {by} to compare\nhelp: the result says why, or compare by another one: --compare-by total"
    )
}

/// What failed, where no results are printed that say so.
fn tell_failures(document: &Document, plan: &Plan) {
    for failed in &document.failed {
        say(format_args!("error: `{}`: {}", visible(&failed.name), visible(&failed.reason)));
    }
    let warning = plan_warnings::of_failures(&document.failed, plan.each_run.accepted());
    if let Some(help) = warning.and_then(|warning| warning.help) {
        say(format_args!("help: {help}"));
    }
}

/// The exit status for this document.
pub(super) fn exit(document: &Document) -> Exit {
    // also after the last run: a cleanup that was cut short leaves something behind
    let interrupted = interrupt::interrupted().is_some();
    if interrupted { Exit::Interrupted } else { Exit::of(document) }
}

/// Measures the commands, with the hooks around them. Exports finished results during the measurement.
pub(super) fn measured(plan: &Plan) -> Result<Document, CommandError> {
    plan.each_run.environment.clone().choose();
    export::check(&plan.exports)?;
    let outputs = plan.benchmarks.iter().filter_map(|benchmark| benchmark.output.file.as_ref());
    let mut used = plan.each_run.input.iter().chain(outputs);
    used.try_for_each(|file| export::refuse_overwrite(export::targets(&plan.exports), file))?;
    plan.caches.iter().flatten().try_for_each(|method| cold_runs::enter(*method))?;
    before_launching();
    if plan.each_run.input.is_none() {
        ourselves::leave_stdin();
    }
    let chosen = choose_phases(plan.backend).map_err(CommandError::unable)?;

    let mut setups = plan.benchmarks.iter().filter_map(|benchmark| benchmark.setup.as_ref());
    let document = setups.try_for_each(hooks::set_up).map_err(CommandError::program);
    let document = document.and_then(|()| measure(plan, chosen));

    // Also after a failure, because the effects of a setup must not remain.
    let before = interrupt::interrupted().is_some();
    let cleanups = plan.benchmarks.iter().filter_map(|benchmark| benchmark.cleanup.as_ref());
    let failed: Vec<_> = cleanups.filter_map(|hook| hooks::clean_up(hook).filter(|_| !before)).collect();
    let mut document = document?;
    document.failed.extend(failed);
    Ok(document)
}

fn measure(plan: &Plan, mut chosen: Chosen<Box<dyn Tracer>>) -> Result<Document, CommandError> {
    let compared = ComparedWith {
        reference: Some(plan.reference),
        baseline: plan.subtract,
        threshold: plan.threshold,
        floor: None,
        for_hyperfine: true,
    };
    let measurement = PerCacheState {
        caches: &plan.caches,
        exports: &plan.exports,
        header: Document {
            compare_by: Some(plan.compare_by),
            ..results::header(&chosen).for_hyperfine(plan.metrics.clone())
        },
        compared,
        style: plan.style,
    };
    let warnings = |document: &Document, measured: &Measured| warnings(plan, document, measured);
    measurement.run(&mut *chosen.tracer, |state| experiment(plan, state), warnings)
}

fn warnings(plan: &Plan, document: &Document, measured: &Measured) -> Vec<Warning> {
    let by_ptrace = document.tool.backend.as_deref() == Some(Backend::Ptrace.name());
    let all = || plan.benchmarks.iter();
    let rights = all().filter_map(|benchmark| {
        plan_warnings::of_rights(&benchmark.name, &benchmark.words, by_ptrace, plan.count_runs > 0)
    });
    let interference = measured.interference.warnings(&document.machine);
    let counters = measured.no_counters.as_ref().map(plan_warnings::of_counters);
    let outputs = all().filter_map(|benchmark| plan_warnings::of_output(benchmark.output.kind));
    let failures = plan_warnings::of_failures(&document.failed, plan.each_run.accepted());
    let metrics = plan_warnings::of_metrics(&plan.metrics);
    let regions = measured.series.iter().filter_map(plan_warnings::of_region);
    let backend = document.tool.backend.as_deref();
    let marks = measured
        .series
        .iter()
        .flat_map(|series| plan_warnings::of_marks(series, plan.each_run.marks, backend));
    let stops = measured.series.iter().filter_map(plan_warnings::of_stops);
    let left = measured.series.iter().filter_map(plan_warnings::of_left_behind);
    outputs
        .chain(metrics)
        .chain(regions)
        .chain(marks)
        .chain(stops)
        .chain(left)
        .chain(rights)
        .chain(interference)
        .chain(counters)
        .chain(failures)
        .collect()
}
