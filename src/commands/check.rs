//! `firstbyte check`: reads the budgets, measures, and judges.

use super::{CommandError, Exit, bench, export, show, terminal};
use crate::budget::{self, ProgramBudget, budget_file};
use crate::cli::bench as bench_plan;
use crate::cli::bench::Benchmark;
use crate::cli::check::Plan;
use crate::document::Document;
use crate::document::bench::{Failed, Measurement};
use crate::document::check::CheckDocument;
use crate::output::Target;
use crate::output::visible;
use crate::report::formats::Exported;
use crate::report::text::check as check_text;
use firstbyte_measure::launch::Command;

/// Checks the programs against their budgets, or writes the file.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    export::refuse_overwrite(export::targets(&plan.exports), &plan.file)?;
    match &plan.init {
        Some(commands) => init(plan, commands),
        None => check(plan),
    }
}

fn check(plan: &Plan) -> Result<Exit, CommandError> {
    let programs = budget::read(&plan.file).map_err(CommandError::usage)?;
    let programs = selected(programs, &plan.only)?;
    let mut measuring = plan.measuring(&programs).map_err(CommandError::usage)?;
    let missing = without_missing(&mut measuring);
    let mut document = bench::measured(&measuring)?;
    document.failed.extend(missing);
    export::write(&plan.exports, &Exported::Bench(&document), true)?;
    let checked = budget::check(&programs, &document);
    if !export::takes_stdout(&plan.exports) {
        let text = if plan.json { json(&checked)? } else { check_text::render(&checked, &terminal()) };
        show(text.as_bytes())?;
    }
    Ok(exit(&document, &checked))
}

/// Takes programs out that do not exist, if others do: one misspelt name must not keep the others from being checked.
fn without_missing(measuring: &mut bench_plan::Plan) -> Vec<Failed> {
    let of = |benchmark: &Benchmark| {
        Command::new(&benchmark.words).err().map(|error| failed(benchmark, &error.to_string()))
    };
    let missing: Vec<Option<Failed>> = measuring.benchmarks.iter().map(of).collect();
    if missing.iter().all(Option::is_some) {
        return Vec::new();
    }
    let mut is_missing = missing.iter().map(Option::is_some);
    measuring.benchmarks.retain(|_| !is_missing.next().unwrap_or_default());
    missing.into_iter().flatten().collect()
}

fn failed(benchmark: &Benchmark, error: &str) -> Failed {
    let reason = error.lines().next().unwrap_or_default().to_owned();
    Failed {
        name: benchmark.name.clone(),
        command: benchmark.command.clone(),
        reason,
        cache: None,
        runs: 0,
        stderr: Vec::new(),
    }
}

fn json(checked: &CheckDocument) -> Result<String, CommandError> {
    serde_json::to_string_pretty(checked).map(|text| text + "\n").map_err(CommandError::unable)
}

fn exit(document: &Document, checked: &CheckDocument) -> Exit {
    match bench::exit(document) {
        Exit::Done if checked.missed() > 0 => Exit::Missed,
        Exit::Done if checked.unknown() > 0 => Exit::Unable,
        other => other,
    }
}

fn selected(programs: Vec<ProgramBudget>, only: &[String]) -> Result<Vec<ProgramBudget>, CommandError> {
    if let Some(name) = only.iter().find(|name| !programs.iter().any(|program| program.label() == **name)) {
        let names: Vec<String> = programs.iter().map(|program| format!("`{}`", program.label())).collect();
        return Err(CommandError::usage(format!(
            "no program is called `{name}`\nhelp: use one of these with --only: {}",
            names.join(", ")
        )));
    }
    let wanted = |program: &ProgramBudget| only.is_empty() || only.iter().any(|name| name == program.label());
    Ok(programs.into_iter().filter(wanted).collect())
}

fn init(plan: &Plan, commands: &[String]) -> Result<Exit, CommandError> {
    let path = plan.file.display();
    let target = Target::parse(&plan.file.to_string_lossy());
    if plan.file.exists() && !plan.force && !target.is_stdout() {
        return Err(CommandError::usage(format!("`{path}` already exists\nhelp: replace it with --force")));
    }
    target.check().map_err(CommandError::usage)?;

    let twice = commands.iter().enumerate().find(|(n, command)| commands[..*n].contains(command));
    if let Some((_, command)) = twice {
        return Err(CommandError::usage(format!(
            "`{}` is given twice\nhelp: give each command once",
            visible(command)
        )));
    }

    let measuring = plan.measuring(&all_timed(commands)).map_err(CommandError::usage)?;
    let document = bench::measured(&measuring)?;
    export::write(&plan.exports, &Exported::Bench(&document), true)?;

    if document.partial {
        return Ok(Exit::Interrupted);
    }
    if let Some(failed) = document.failed.first() {
        return Err(CommandError::program(format!(
            "`{}` cannot be measured: {}\nhelp: try it first: firstbyte bench {}",
            failed.name,
            failed.reason,
            shell_words::quote(&failed.command)
        )));
    }

    let budgets = budget_file::write(&document.results);
    if target.is_stdout() {
        show(budgets.as_bytes())?;
        return Ok(Exit::Done);
    }
    target.write(&budgets).map_err(CommandError::unable)?;
    let uncounted: String = document.results.iter().filter_map(uncounted).collect();
    show(format!("wrote `{path}`; `firstbyte check` compares the programs with it\n{uncounted}").as_bytes())?;
    Ok(Exit::Done)
}

fn uncounted(measurement: &Measurement) -> Option<String> {
    let reason = measurement.uncounted.as_ref()?;
    let name = visible(measurement.label());
    Some(format!("`{name}` has budgets only for times: in a counting run, {}\n", visible(reason)))
}

/// The commands as the programs of a file with budgets for times, so that times are measured.
fn all_timed(commands: &[String]) -> Vec<ProgramBudget> {
    let any = budget::AtMost { max: firstbyte_measure::units::Nanos(u64::MAX), tolerance: None };
    let program = |command: &String| ProgramBudget {
        command: command.clone(),
        total: Some(any),
        ..ProgramBudget::default()
    };
    commands.iter().map(program).collect()
}
