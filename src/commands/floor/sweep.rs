//! `firstbyte floor --cpus-sweep`: one program with 1, 2, 4 … processors, runs in turn.

use super::super::progress::Bar;
use crate::bench::runner::Tracee;
use crate::bench::{Budget, Campaign, Outcome, Series, Subject, Tracees};
use crate::cli::floor::Plan;
use crate::commands::CommandError;
use crate::corpus::{BuildCache, Corpus, prepare};
use crate::document::floor::{CpuSweep, Floor, Group, Missing};
use crate::floor::cpu_limits::{CpuLimit, cpu_limits};
use crate::floor::{Effort, allowed_cpus};
use firstbyte_measure::launch::{Command, CpuSet, Launcher, interrupt};
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
    let tracees = limits.iter().map(|limit| tracee(plan, &command, limit));
    let tracees = tracees.collect::<Result<Vec<_>, CommandError>>()?;
    let chosen = choose_phases(Choice::Auto).map_err(CommandError::unable)?;
    let subject = |limit: &CpuLimit| Subject {
        name: format!("{} {}", limit.name(), limit.cpus),
        command: program.name.clone(),
        expected: Some(firstbyte_measure::launch::ExitStatus::SUCCESS),
        file_size: None,
    };
    let campaign = Campaign {
        subjects: limits.iter().map(subject).collect(),
        budget: Budget::Runs(if plan.effort == Effort::Quick { 8 } else { 40 }),
        warmup: 1,
        seed: plan.seed,
        overhead: false,
    };
    let mut checkpoint = |_: &[Series]| {};
    let mut bar = Bar::new(&mut checkpoint);
    let outcome = campaign.run(&mut Tracees::new(tracees, chosen.tracer), &mut bar);
    bar.finish();
    let Outcome { series, interrupted, broken, .. } = outcome.map_err(CommandError::unable)?;
    if let Some(error) = broken {
        return Err(CommandError::unable(error));
    }
    if let Some(reason) = series.iter().filter(|s| s.samples.is_empty()).find_map(|s| s.rejected.first()) {
        let (name, reason) = (&program.name, &reason.reason);
        return Err(CommandError::program(format!("`{name}`: {reason}\nhelp: run it by hand")));
    }
    let points = limits.iter().zip(&series).filter_map(|(limit, series)| limit.point(series));
    Ok((CpuSweep { name: program.name.clone(), points: points.collect() }, interrupted))
}

fn tracee(plan: &Plan, command: &Command, limit: &CpuLimit) -> Result<Tracee, CommandError> {
    let mut command = command.clone();
    if let Some((name, value)) = &limit.variable {
        command.set_variable(name, OsStr::new(value)).map_err(CommandError::program)?;
    }
    let mut launcher = Launcher::new(command)?;
    let list: Vec<String> = limit.allowed.iter().map(ToString::to_string).collect();
    let cpus: CpuSet = list.join(",").parse().map_err(CommandError::usage)?;
    launcher.set_cpus(&cpus);
    Ok(Tracee {
        launcher,
        setting: tracer::Setting { timeout: Some(plan.timeout), ..tracer::Setting::default() },
    })
}
