//! `firstbyte floor`: programs for the ladder, the survey, the document, renderings.

use super::progress::bar;
use super::{CommandError, Exit, show, terminal};
use crate::cli::floor::{Form, Plan};
use crate::corpus::{Built, Cache, Corpus, Program, prepare_all};
use crate::floor::survey::Part;
use crate::floor::{Floor, FloorError, Group, Missing, Pinned, Rung, Survey};
use crate::launch::{interrupt, tree};
use crate::machine::Machine;
use crate::report::document::{SCHEMA, Tool};
use crate::report::{floor_markdown, floor_text};
use std::path::Path;
use std::process::{Command, Stdio};

/// The corpus' programs that are rungs of the ladder, from the floor upwards, and what they are called there.
const RUNGS: [(&str, &str); 6] = [
    ("floor-elf", "plain ELF"),
    ("asm-x86_64", "assembler"),
    ("c-nolibc", "C without libc"),
    ("c-musl", "static musl"),
    ("c-static", "static glibc"),
    ("c-printf", "dynamic C"),
];

/// Our own runtime stands above the C program that uses none.
const RUNTIME: (&str, usize) = ("our runtime", 3);

/// Measures what was asked for, and prints it.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    for (_, target) in &plan.exports {
        target.check().map_err(CommandError::usage)?;
    }
    interrupt::catch_signals();
    tree::adopt_orphans();
    let folder =
        tempfile::Builder::new().prefix("firstbyte-floor-").tempdir().map_err(CommandError::unable)?;
    let (rungs, missing) = ladder(folder.path())?;
    let first = plan.cpus.as_ref().and_then(|cpus| cpus.cpus().first().copied());
    let second = plan.cpus.as_ref().and_then(|cpus| cpus.cpus().get(1).copied());
    let pinned = Pinned::to(first)?;
    let survey = Survey {
        rungs: &rungs,
        folder: folder.path(),
        other: second.or(pinned.other),
        effort: plan.effort,
        seed: plan.seed,
    };
    let mut floor = empty(&pinned);
    floor.missing = missing;
    let done = measure(plan, &survey, &mut floor);
    drop(pinned);
    match done {
        Err(FloorError::Interrupted) => floor.partial = true,
        other => other?,
    }
    finish(plan, &floor)
}

fn empty(pinned: &Pinned) -> Floor {
    Floor {
        schema: SCHEMA.to_owned(),
        tool: Tool {
            name: "firstbyte".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Tool::default()
        },
        machine: serde_json::to_value(Machine::examine()).unwrap_or_default(),
        partial: false,
        cpu: pinned.cpu,
        overhead: crate::floor::Overhead::default(),
        results: Vec::new(),
        missing: Vec::new(),
        waterfalls: Vec::new(),
    }
}

fn measure(plan: &Plan, survey: &Survey, floor: &mut Floor) -> Result<(), FloorError> {
    let bar = bar("measuring", plan.groups.len() as u64);
    for group in &plan.groups {
        bar.set_message(group.name());
        let part = match group {
            Group::Syscalls => survey.syscalls()?,
            Group::Processes => survey.processes()?,
            Group::Shells => survey.shells()?,
            Group::Waterfall => {
                floor.waterfalls.extend(survey.waterfall()?);
                Part::default()
            }
            Group::Faults | Group::Prints => Part::default(),
        };
        if floor.overhead.step == 0 {
            floor.overhead = part.overhead;
        }
        floor.results.extend(part.figures);
        floor.missing.extend(part.missing);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

fn finish(plan: &Plan, floor: &Floor) -> Result<Exit, CommandError> {
    for (form, target) in &plan.exports {
        let text = match form {
            Form::Json => serde_json::to_string_pretty(floor).map_err(CommandError::unable)? + "\n",
            Form::Markdown => floor_markdown::render(floor),
        };
        target.write(&text).map_err(CommandError::unable)?;
    }
    if !plan.exports.iter().any(|(_, target)| target.is_stdout()) {
        show(floor_text::render(floor, plan.histograms, &terminal()).as_bytes())?;
    }
    Ok(if floor.partial { Exit::Interrupted } else { Exit::Done })
}

/// The programs of the ladder as far as this machine can build them, and why not the rest.
fn ladder(folder: &Path) -> Result<(Vec<Rung>, Vec<Missing>), CommandError> {
    let corpus = Corpus::load(None).map_err(CommandError::unable)?;
    let named: Vec<(&str, &Program)> =
        RUNGS.iter().filter_map(|(name, label)| Some((*label, corpus.find(name)?))).collect();
    let programs: Vec<&Program> = named.iter().map(|(_, program)| *program).collect();
    let cache = Cache::of_user().map_err(CommandError::unable)?;
    let interrupted = || interrupt::interrupted().is_some();
    let results = prepare_all(&programs, &cache, 2, &interrupted, &|_| {});
    if interrupted() {
        return Err(crate::launch::LaunchError::Interrupted.into());
    }
    let (mut rungs, mut missing) = (Vec::new(), Vec::new());
    for ((label, _), result) in named.iter().zip(results) {
        match result {
            Ok(built) => rungs.push(rung(label, &built)),
            Err(skipped) => missing.push(lack(label, skipped.reason)),
        }
    }
    match runtime(folder) {
        Ok(rung) => rungs.insert(RUNTIME.1.min(rungs.len()), rung),
        Err(reason) => missing.push(lack(RUNTIME.0, reason)),
    }
    Ok((rungs, missing))
}

fn lack(name: &str, reason: String) -> Missing {
    Missing { group: Group::Processes, name: format!("vfork+exec, {name}"), reason }
}

fn rung(label: &str, built: &Built) -> Rung {
    Rung { name: label.to_owned(), executable: built.executable.clone(), argv: built.argv.clone() }
}

/// hello world, compiled by `firstbyte cc`. The error is one lower-case line.
fn runtime(folder: &Path) -> Result<Rung, String> {
    let (source, program) = (folder.join("hello.c"), folder.join("runtime"));
    let text = "#include <stdio.h>\n\nint main() {\n  printf(\"hello world\\n\");\n  return 0;\n}\n";
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let ourselves = std::env::current_exe().map_err(|error| error.to_string())?;
    let compiled = Command::new(ourselves)
        .args(["cc".as_ref(), source.as_os_str(), "-o".as_ref(), program.as_os_str()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let printed = Command::new(&program).stdin(Stdio::null()).output();
    match printed {
        Ok(output) if output.stdout == b"hello world\n" && output.status.success() => {
            Ok(Rung { name: RUNTIME.0.to_owned(), executable: program, argv: vec!["./test".into()] })
        }
        Ok(_) => Err("what `firstbyte cc` compiled printed something else".to_owned()),
        Err(_) => {
            let said = String::from_utf8_lossy(&compiled.stderr);
            Err(format!("`firstbyte cc` compiles nothing here: {}", said.lines().next().unwrap_or_default()))
        }
    }
}

impl From<FloorError> for CommandError {
    fn from(error: FloorError) -> CommandError {
        match error {
            FloorError::Interrupted => crate::launch::LaunchError::Interrupted.into(),
            FloorError::Processor { .. } => CommandError::usage(error),
            FloorError::Resource { .. } => CommandError::unable(error),
        }
    }
}
