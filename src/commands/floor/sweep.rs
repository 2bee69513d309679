//! `firstbyte floor --cpus-sweep`: one program with 1, 2, 4 … processors, runs in turn.

use super::super::progress::Bar;
use crate::bench::{Aim, Around, Budget, Campaign, Counting, Entry, Experiment, Series, Tracee};
use crate::cli::floor::Plan;
use crate::commands::CommandError;
use crate::corpus::{BuildCache, Corpus, prepare};
use crate::document::floor::{CpuSweep, Floor, Group, Missing};
use crate::floor::cpu_limits::{CpuLimit, cpu_limits};
use crate::floor::{Effort, allowed_cpus};
use firstbyte_measure::launch::{Command, CpuSet, ExitStatus, Launcher, interrupt};
use firstbyte_measure::tracer;
use firstbyte_measure::tracer::Choice;
use firstbyte_measure::tracer::phases::choose_phases;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Asked about where no command is given: the runtimes that look at the number of processors.
const PROGRAMS: [&str; 3] = ["go", "java", "node"];

/// A program to be swept.
struct Program {
    name: String,
    argv: Vec<OsString>,
    directory: Option<PathBuf>,
}

/// Adds a sweep a program to the document.
pub(super) fn run(plan: &Plan, floor: &mut Floor) -> Result<(), CommandError> {
    let available = match &plan.cpus {
        Some(cpus) => cpus.cpus().to_vec(),
        None => allowed_cpus()?,
    };
    for program in programs(plan, floor)? {
        let (sweep, interrupted) = sweep(plan, &available, &program)?;
        floor.sweeps.push(sweep);
        floor.partial |= interrupted;
        if interrupted {
            break;
        }
    }
    Ok(())
}

fn programs(plan: &Plan, floor: &mut Floor) -> Result<Vec<Program>, CommandError> {
    if !plan.command.is_empty() {
        let name = shell_words::join(plan.command.iter().map(|word| word.to_string_lossy()));
        return Ok(vec![Program { name, argv: plan.command.clone(), directory: None }]);
    }
    let corpus = Corpus::load(None).map_err(CommandError::unable)?;
    let cache = BuildCache::of_user().map_err(CommandError::unable)?;
    let mut found = Vec::new();
    for program in PROGRAMS.iter().filter_map(|name| corpus.find(name)) {
        match prepare(program, &cache, &|| interrupt::interrupted().is_some()) {
            Ok(built) => found.push(Program {
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

fn sweep(plan: &Plan, available: &[usize], program: &Program) -> Result<(CpuSweep, bool), CommandError> {
    let command =
        Command::in_directory(&program.argv, program.directory.as_deref()).map_err(CommandError::program)?;
    let executable = program.directory.clone().unwrap_or_default().join(command.program());
    let limits = cpu_limits(available, &executable);
    let entries = limits.iter().map(|limit| entry(plan, program, &command, limit));
    let experiment = Experiment {
        entries: entries.collect::<Result<_, CommandError>>()?,
        campaign: Campaign {
            aim: Aim::Time,
            budget: Budget::Runs(if plan.effort == Effort::Quick { 8 } else { 40 }),
            warmup: 1,
            seed: plan.seed,
            overhead: false,
        },
        cold: None,
        env_offset: false,
        counting: Counting::default(),
    };

    let mut chosen = choose_phases(Choice::Auto).map_err(CommandError::unable)?;
    let measured = experiment.run(&mut chosen.tracer, &mut Bar::new(None))?;
    if let Some(error) = measured.ending.broken {
        return Err(error.into());
    }
    let series = &measured.series;
    if let Some(reason) = series.iter().filter(|s| s.samples.is_empty()).find_map(|s| s.rejected.first()) {
        let (name, reason) = (&program.name, &reason.reason);
        return Err(CommandError::program(format!("`{name}`: {reason}\nhelp: run it by hand")));
    }
    let points = limits.iter().zip(series).filter_map(|(limit, series)| limit.point(series));
    let sweep = CpuSweep { name: program.name.clone(), points: points.collect() };
    Ok((sweep, measured.ending.interrupted))
}

fn entry(plan: &Plan, program: &Program, command: &Command, limit: &CpuLimit) -> Result<Entry, CommandError> {
    let mut command = command.clone();
    if let Some((name, value)) = &limit.variable {
        command.set_variable(name, OsStr::new(value)).map_err(CommandError::program)?;
    }
    let mut launcher = Launcher::new(command)?;
    let list: Vec<String> = limit.allowed.iter().map(ToString::to_string).collect();
    let cpus: CpuSet = list.join(",").parse().map_err(CommandError::usage)?;
    launcher.set_cpus(&cpus);
    let setting = tracer::Setting { timeout: Some(plan.timeout), ..tracer::Setting::default() };
    Ok(Entry {
        series: Series {
            name: format!("{} {}", limit.name(), limit.cpus),
            command: program.name.clone(),
            expected: Some(ExitStatus::SUCCESS),
            ..Series::default()
        },
        tracee: Tracee { launcher, setting },
        around: Around::default(),
        settled: None,
    })
}
