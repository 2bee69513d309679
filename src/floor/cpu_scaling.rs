//! One program with 1, 2, 4 … processors, interleaved.

use super::cpu_limits::{CpuLimit, cpu_limits};
use super::{Effort, FloorError, FloorPlan, allowed_cpus};
use crate::bench::{
    Accepted, Aim, Campaign, Counting, Experiment, ExperimentEntry, LookForMarks, Measured, Placement,
    Progress, RunHooks, RunLimit, Series, Tracee,
};
use crate::corpus::{Corpus, build_cache, prepare};
use crate::document::floor::{CpuScaling, Floor, Group, Missing};
use firstbyte_measure::launch::{Command, CpuSet, Launcher, interrupt};
use firstbyte_measure::tracer::phases::choose_phases;
use firstbyte_measure::tracer::{BackendChoice, RunOptions};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The programs if no command is given: those whose runtimes look at the number of processors.
const PROGRAMS: [&str; 3] = ["go", "java", "node"];

struct ScaledProgram {
    name: String,
    argv: Vec<OsString>,
    directory: Option<PathBuf>,
}

/// Adds one sweep for each program to the document.
pub fn scale_cpus(
    plan: &FloorPlan,
    floor: &mut Floor,
    progress: &mut dyn Progress,
) -> Result<(), FloorError> {
    let available = match &plan.cpus {
        Some(cpus) => cpus.cpus().to_vec(),
        None => allowed_cpus()?,
    };
    for program in programs(plan, floor)? {
        let (sweep, interrupted) = sweep(plan, &available, &program, progress)?;
        floor.sweeps.push(sweep);
        floor.partial |= interrupted;
        if interrupted {
            break;
        }
    }
    Ok(())
}

fn programs(plan: &FloorPlan, floor: &mut Floor) -> Result<Vec<ScaledProgram>, FloorError> {
    if !plan.command.is_empty() {
        let name = shell_words::join(plan.command.iter().map(|word| word.to_string_lossy()));
        return Ok(vec![ScaledProgram { name, argv: plan.command.clone(), directory: None }]);
    }

    let corpus = Corpus::load(None).map_err(FloorError::unable)?;
    let cache = build_cache().map_err(FloorError::unable)?;
    let mut found = Vec::new();
    for program in PROGRAMS.iter().filter_map(|name| corpus.find(name)) {
        match prepare(program, &cache, &|| interrupt::interrupted().is_some()) {
            Ok(built) => found.push(ScaledProgram {
                name: program.name().to_owned(),
                argv: built.argv,
                directory: Some(built.directory),
            }),
            Err(skipped) => floor.missing.push(Missing {
                group: Group::Processes,
                name: format!("{} with fewer processors", program.name()),
                reason: skipped.reason,
            }),
        }
    }
    Ok(found)
}

fn sweep(
    plan: &FloorPlan,
    available: &[usize],
    program: &ScaledProgram,
    progress: &mut dyn Progress,
) -> Result<(CpuScaling, bool), FloorError> {
    let command = Command::in_directory(&program.argv, program.directory.as_deref())?;
    let executable = program.directory.clone().unwrap_or_default().join(command.program());
    let limits = cpu_limits(available, &executable);

    let entries = limits.iter().map(|limit| entry(plan, program, &command, limit));
    let experiment = experiment(plan, entries.collect::<Result<_, _>>()?);
    let mut tracer = choose_phases(BackendChoice::Auto).map_err(FloorError::unable)?.tracer;
    let Measured { series, ending, .. } = experiment.run(&mut *tracer, progress)?;
    if let Some(error) = ending.broken {
        return Err(error.into());
    }
    if let Some(reason) = series.iter().filter(|s| s.samples.is_empty()).find_map(|s| s.rejected.first()) {
        let (name, reason) = (&program.name, &reason.reason);
        return Err(FloorError::Program(format!("`{name}`: {reason}\nhelp: run it by hand")));
    }

    let points = limits.iter().zip(&series).filter_map(|(limit, series)| limit.point(series));
    Ok((CpuScaling { name: program.name.clone(), points: points.collect() }, ending.interrupted))
}

fn experiment(plan: &FloorPlan, entries: Vec<ExperimentEntry>) -> Experiment {
    let limit = RunLimit::Runs(if plan.effort == Effort::Quick { 8 } else { 40 });
    Experiment {
        entries,
        campaign: Campaign { aim: Aim::Time, limit, warmup: 1, seed: plan.seed, overhead: false },
        cold: None,
        residence: false,
        env_offset: false,
        counting: Counting::default(),
    }
}

fn entry(
    plan: &FloorPlan,
    program: &ScaledProgram,
    command: &Command,
    limit: &CpuLimit,
) -> Result<ExperimentEntry, FloorError> {
    let mut command = command.clone();
    if let Some((name, value)) = &limit.variable {
        command.set_variable(name, OsStr::new(value))?;
    }
    let launcher = Launcher::new(command)?;
    let list: Vec<String> = limit.allowed.iter().map(ToString::to_string).collect();
    let cpus: CpuSet = list.join(",").parse().map_err(FloorError::unable)?;

    let options = RunOptions { timeout: Some(plan.timeout), ..RunOptions::default() };
    Ok(ExperimentEntry {
        series: Series {
            name: format!("{} {}", limit.name(), limit.cpus),
            command: program.name.clone(),
            accepted: Accepted::SUCCESS,
            ..Series::default()
        },
        tracee: Tracee { launcher, options, placement: Placement::Given(cpus), marks: LookForMarks::Never },
        hooks: RunHooks::default(),
        reread: None,
    })
}
