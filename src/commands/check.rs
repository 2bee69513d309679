//! `firstbyte check`: reads the budgets, measures, and judges.

use super::{CommandError, Exit, bench, export, recorded_runs, show, terminal};
use crate::budget::{self, BudgetFile, ProgramBudget, budget_file, conditions};
use crate::cli::bench as bench_plan;
use crate::cli::bench::Benchmark;
use crate::cli::check::Plan;
use crate::document::Document;
use crate::document::bench::{Failed, Measurement};
use crate::document::check::{CheckDocument, CheckedProgram};
use crate::output::Target;
use crate::output::visible;
use crate::report::formats::Exported;
use crate::report::text::check as check_text;
use firstbyte_measure::launch::{Command, Environment, interrupt};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Checks the programs against their budgets, or writes the file.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    export::refuse_overwrite(export::targets(&plan.exports), &plan.file)?;
    match &plan.init {
        Some(commands) => init(plan, commands),
        None => check(plan),
    }
}

fn check(plan: &Plan) -> Result<Exit, CommandError> {
    let file = budget::read(&plan.file).map_err(CommandError::usage)?;
    let file = BudgetFile { programs: selected(file.programs, &plan.only)?, ..file };
    let environment = plan.environment(&file);
    // programs are looked for along its PATH
    environment.clone().choose();
    let mut measuring = plan.measuring(&file.programs, environment.clone()).map_err(CommandError::usage)?;
    let words: Vec<Vec<String>> = measuring.benchmarks.iter().map(|b| b.words.clone()).collect();
    let differing = conditions::differing(&file, &words, &environment);

    let missing = without_missing(&mut measuring);
    let mut document = bench::measured(&measuring)?;
    document.failed.extend(missing);
    let mut checked = budget::check(&file.programs, &document, differing);
    explain(plan, &file, &measuring, &mut checked);
    export::write(&plan.exports, &Exported::Check { document: &document, checked: &checked }, true)?;
    if !export::takes_stdout(&plan.exports) {
        let text = if plan.json { json(&checked)? } else { check_text::render(&checked, &terminal()) };
        show(text.as_bytes())?;
    }
    Ok(exit(&document, &checked))
}

/// Finds what programs do now and did not do when the budgets were written, where a count is missed.
fn explain(plan: &Plan, file: &BudgetFile, measuring: &bench_plan::Plan, checked: &mut CheckDocument) {
    for (program, checked) in file.programs.iter().zip(&mut checked.results) {
        let benchmark = measuring.benchmarks.iter().find(|benchmark| benchmark.name == program.label());
        if let Some(benchmark) = benchmark.filter(|_| checked.misses_counts()) {
            explain_one(plan, program, benchmark, checked);
        }
    }
}

fn explain_one(plan: &Plan, program: &ProgramBudget, benchmark: &Benchmark, checked: &mut CheckedProgram) {
    let Some(recording) = &program.recording else {
        checked.came_help = Some(
            "there is no recording of the run that the counts are of; firstbyte check --init makes one"
                .to_owned(),
        );
        return;
    };
    let recording = plan.file.parent().unwrap_or(Path::new("")).join(recording);
    let runs = plan.recording(Environment::of_programs());
    match recorded_runs::compare(&runs, benchmark, &recording) {
        Ok(came) => {
            checked.came = came;
            let words =
                ["firstbyte", "diff", &recording.to_string_lossy(), &program.command].map(str::to_owned);
            checked.came_help = Some(shell_words::join(words));
        }
        Err(reason) => checked.came_help = Some(format!("what came is not known: {reason}")),
    }
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

    let environment = plan.environment(&BudgetFile::default());
    let measuring = plan.measuring(&all_timed(commands), environment.clone()).map_err(CommandError::usage)?;
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

    let variables = environment.to_fix();
    if target.is_stdout() {
        show(budget_file::write(&document.results, &variables, &BTreeMap::new()).as_bytes())?;
        return Ok(Exit::Done);
    }
    let (recordings, unrecorded) = recorded(plan, &measuring.benchmarks, environment);
    target
        .write(&budget_file::write(&document.results, &variables, &recordings))
        .map_err(CommandError::unable)?;
    let uncounted: String = document.results.iter().filter_map(uncounted).collect();
    let text = format!(
        "wrote `{path}`; `firstbyte check` compares the programs with it\n{uncounted}{}",
        visible(&unrecorded)
    );
    show(text.as_bytes())?;
    Ok(if interrupt::interrupted().is_some() { Exit::Interrupted } else { Exit::Done })
}

/// Records each program. The paths of the recordings begin in the folder of the budget file; the others have a line that says
/// why they are missing.
fn recorded(
    plan: &Plan,
    benchmarks: &[Benchmark],
    environment: Environment,
) -> (BTreeMap<String, String>, String) {
    let usual = plan.file.with_extension("recordings");
    let folder = if usual == plan.file { plan.file.with_extension("recorded") } else { usual };
    let beside = plan.file.parent().unwrap_or(Path::new(""));
    let all = recorded_runs::record(&plan.recording(environment), benchmarks, &folder);

    let (mut recordings, mut unrecorded) = (BTreeMap::new(), String::new());
    for (benchmark, recording) in benchmarks.iter().zip(all) {
        match recording {
            Ok(path) => {
                let path = path.strip_prefix(beside).unwrap_or(&path);
                recordings.insert(benchmark.name.clone(), path.to_string_lossy().into_owned());
            }
            Err(reason) => {
                let _ = writeln!(unrecorded, "`{}` has no recording: {reason}", benchmark.name);
            }
        }
    }
    (recordings, unrecorded)
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
