//! From the plan of `bench` to an experiment.

use super::CommandError;
use crate::analysis::processor_time;
use crate::bench::{
    Aim, Campaign, Counting, Experiment, ExperimentEntry, ITERATION, ProcessorRuns, RegionTimes, RunHooks,
    RunLimit, RunPlan, Series, run_conditions,
};
use crate::cli::bench::{Benchmark, Plan};
use crate::document::bench::{ColdMethod, Metric};
use crate::document::conditions::Conditions;
use firstbyte_measure::launch::{Command, Until, environment};
use firstbyte_measure::units::Bytes;
use std::collections::BTreeMap;

/// The commands of a plan, with the page cache in one state.
pub(super) fn experiment(plan: &Plan, cold: Option<ColdMethod>) -> Result<Experiment, CommandError> {
    // runs that are not observed in phases do not see the mark that ends them
    let sees_end = !matches!(plan.each_run.until, Some(Until::Mark(_)));
    Ok(Experiment {
        entries: plan.benchmarks.iter().map(|benchmark| entry(plan, benchmark)).collect::<Result<_, _>>()?,
        campaign: Campaign {
            aim: Aim::Time,
            limit: plan.limit,
            warmup: plan.warmup,
            seed: plan.seed,
            overhead: plan.overhead,
        },
        cold,
        residence: plan.caches.iter().any(Option::is_some),
        env_offset: plan.env_offset,
        counting: Counting {
            runs: plan.count_runs,
            time: plan.count_time,
            by_processor: plan.count_runs > 1 && sees_end,
            processor: (sees_end && (plan.count_runs > 0 || plan.each_run.region.is_some()))
                .then(|| traced(plan)),
            influences: false,
        },
    })
}

/// Enough runs for a mean, unless they are compared. Who wants one run gets one.
fn traced(plan: &Plan) -> ProcessorRuns {
    const FEW: [u32; 2] = [3, 30];
    let compared = matches!(plan.compare_by, Metric::User | Metric::Region) || plan.each_run.region.is_some();
    let [least, most] = match plan.limit {
        RunLimit::Runs(runs) if compared => [runs; 2],
        RunLimit::Runs(runs) => FEW.map(|few| few.min(runs)),
        RunLimit::Adaptive(adaptive) if compared => [adaptive.least, adaptive.most],
        _ => FEW,
    };
    ProcessorRuns { least, most, compared, explain: processor_time::of_recording }
}

fn entry(plan: &Plan, benchmark: &Benchmark) -> Result<ExperimentEntry, CommandError> {
    let command = Command::in_directory(&benchmark.words, benchmark.directory.as_deref());
    let mut command = command.map_err(CommandError::program)?;
    benchmark.removed.iter().for_each(|name| command.remove_variable(name));
    for (name, value) in &benchmark.variables {
        command.set_variable(name, value.as_ref()).map_err(CommandError::usage)?;
    }

    let program = command.program().to_owned();
    let hooks = RunHooks {
        prepare: benchmark.prepare.clone(),
        conclude: benchmark.conclude.clone(),
        input: plan.each_run.input.clone(),
        wants_iteration: benchmark.words.iter().any(|word| word.contains(ITERATION)),
    };

    let mut tracee = RunPlan { output: benchmark.output.clone(), ..plan.each_run.clone() }.tracee(command)?;
    tracee.options.expected.clone_from(&benchmark.expected);
    Ok(ExperimentEntry {
        series: Series {
            file_size: std::fs::metadata(&program).ok().map(|file| Bytes(file.len())),
            ..series(plan, benchmark)
        },
        tracee,
        hooks,
        reread: Some(program),
    })
}

fn series(plan: &Plan, benchmark: &Benchmark) -> Series {
    let parameters = benchmark.parameters.iter().map(|(name, value)| (name.clone(), value.clone().into()));
    let conditions = Conditions {
        until: plan.each_run.until.as_ref().map(run_conditions::ended_by),
        input: plan.each_run.input.is_some(),
        shell: benchmark.shell.clone(),
        variables: recorded(benchmark),
        env_offset: plan.env_offset,
        ..run_conditions::plain(benchmark.output.kind, &plan.each_run.placement)
    };

    Series {
        name: benchmark.name.clone(),
        given_name: benchmark.given_name.clone(),
        command: benchmark.command.clone(),
        accepted: plan.each_run.accepted(),
        parameters: parameters.collect(),
        conditions: Some(conditions),
        region: plan.each_run.region.clone().map(|region| RegionTimes {
            region,
            times: Vec::new(),
            why_not: None,
        }),
        ..Series::default()
    }
}

/// The variables that are set for this command, as a document shows them.
fn recorded(benchmark: &Benchmark) -> BTreeMap<String, String> {
    let shown = |(name, value): &(String, String)| (name.clone(), environment::shown(name, value.as_ref()));
    benchmark.variables.iter().map(shown).collect()
}
