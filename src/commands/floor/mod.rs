//! `firstbyte floor`: programs for the ladder, the survey, the document, renderings.

mod prints;
mod sweep;

use super::progress::bar;
use super::{CommandError, Exit, export, show, terminal};
use crate::cli::floor::Plan;
use crate::corpus::{BuildCache, Built, Corpus, PrepareOptions, Program, prepare_all};
use crate::document::Kind;
use crate::document::bench::{SCHEMA, Tool};
use crate::document::floor::{Calibration, Floor, Group, Missing, Overhead, Print};
use crate::floor::{COMMAND, FloorError, GroupResult, Pinned, Rung, Survey, UserCommand};
use crate::floor::{calibration, shells};
use crate::report::formats::Exported;
use crate::report::text::floor as floor_text;
use firstbyte_elf::Architecture;
use firstbyte_elf::packed;
use firstbyte_elf::packed::Demands;
use firstbyte_measure::launch;
use firstbyte_measure::launch::{ExitStatus, Launcher, OutputKind, interrupt, tree};
use firstbyte_measure::machine::Machine;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::{EventKind, Setting, Tracer};
use firstbyte_measure::units::Nanos;
use std::os::unix::fs::PermissionsExt;
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
const RUNTIME: (&str, usize) = ("our runtime", 4);

/// The smallest executable stands on the plain one: it is smaller, not faster.
const PACKED: (&str, usize) = ("packed ELF", 1);

/// Measures what was asked for, and prints it.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    check(plan)?;
    interrupt::catch_signals();
    tree::adopt_orphans();
    if plan.sweep {
        let mut floor = empty(None);
        sweep::run(plan, &mut floor)?;
        return finish(plan, &floor);
    }
    let folder =
        tempfile::Builder::new().prefix("firstbyte-floor-").tempdir().map_err(CommandError::unable)?;
    let (rungs, missing) = ladder(folder.path())?;
    let first = plan.cpus.as_ref().and_then(|cpus| cpus.cpus().first().copied());
    let second = plan.cpus.as_ref().and_then(|cpus| cpus.cpus().get(1).copied());
    let pinned = Pinned::to(first)?;
    let command = if plan.command.is_empty() { None } else { Some(tried(plan)?) };
    let survey = Survey {
        rungs: &rungs,
        folder: folder.path(),
        other: second.or(pinned.other),
        effort: plan.effort,
        seed: plan.seed,
    };
    let mut floor = empty(Some(&pinned));
    floor.missing = missing;
    let done = measure(plan, &survey, command.as_ref(), &mut floor);
    let cleared = tree::kill_adopted();
    drop(pinned);
    match done {
        Err(FloorError::Interrupted) => floor.partial = true,
        other => other?,
    }
    cleared?;
    floor.calibration = kept_costs(&floor);
    finish(plan, &floor)
}

/// Keeps what was measured for those who estimate; without a place for it, nothing is lost but that.
fn kept_costs(floor: &Floor) -> Option<Calibration> {
    let measured = calibration::of(&floor.results);
    let machine = Machine::examine();
    if measured != Calibration::default() && !floor.partial {
        let _ = calibration::store(measured, &machine);
    }
    calibration::load(&machine)
}

/// The command, run once before anything is timed: it must end, and end well. And how long that took.
fn tried(plan: &Plan) -> Result<(UserCommand, Nanos), CommandError> {
    let command = launch::Command::new(&plan.command).map_err(CommandError::program)?;
    let executable = std::path::absolute(command.program()).map_err(CommandError::program)?;
    let mut launcher = Launcher::new(command)?;
    let setting = Setting { output: OutputKind::Null, timeout: Some(plan.timeout), ..Setting::default() };
    let recording = PipeTracer::blind().run(&mut launcher, &setting)?;
    let subordinate = UserCommand { words: plan.command.clone(), executable, limit: plan.timeout };
    if !recording.exit.success() {
        let shown = subordinate.shown();
        return Err(CommandError::program(format!(
            "`{shown}` {}\nhelp: run it by hand; if it was killed after {:?}, give \
             it more time by --timeout",
            recording.exit.instead_of(ExitStatus::SUCCESS),
            plan.timeout
        )));
    }
    let ends =
        |kind: &dyn Fn(&EventKind) -> bool| recording.events.iter().find(|e| kind(&e.kind)).map(|e| e.at);
    let (start, end) = (
        ends(&|kind| matches!(kind, EventKind::Spawn)),
        ends(&|kind| matches!(kind, EventKind::Reaped { .. })),
    );
    let lasts = end.zip(start).and_then(|(end, start)| end.since(start)).unwrap_or_default();
    Ok((subordinate, lasts))
}

fn empty(pinned: Option<&Pinned>) -> Floor {
    Floor {
        schema: SCHEMA.to_owned(),
        kind: Kind::Floor,
        tool: Tool::ours(),
        machine: serde_json::to_value(Machine::examine()).unwrap_or_default(),
        partial: false,
        cpu: pinned.map(|pinned| pinned.cpu),
        overhead: Overhead::default(),
        results: Vec::new(),
        missing: Vec::new(),
        prints: Vec::new(),
        waterfalls: Vec::new(),
        sweeps: Vec::new(),
        calibration: None,
    }
}

fn measure(
    plan: &Plan,
    survey: &Survey,
    command: Option<&(UserCommand, Nanos)>,
    floor: &mut Floor,
) -> Result<(), FloorError> {
    let bar = bar("measuring", plan.groups.len() as u64);
    for group in &plan.groups {
        bar.set_message(group.name());
        let part = match group {
            Group::Syscalls => survey.syscalls()?,
            Group::Processes => survey.processes()?,
            Group::Shells => survey.shells(&shells::NAMES)?,
            Group::Faults => survey.faults()?,
            Group::Waterfall => match command {
                Some((command, lasts)) => survey.command(command, *lasts)?,
                None => survey.waterfall()?,
            },
            Group::Prints => {
                let (prints, missing) = prints::run(plan)?;
                floor.prints = prints;
                GroupResult { missing, ..GroupResult::default() }
            }
        };
        if floor.overhead.step == 0 {
            floor.overhead = part.overhead;
        }
        floor.results.extend(part.figures);
        floor.waterfalls.extend(part.waterfall);
        floor.missing.extend(part.missing);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// That every export can be made and written, before anything is measured for it.
fn check(plan: &Plan) -> Result<(), CommandError> {
    for (format, _) in &plan.exports {
        if format.is_picture() && (plan.sweep || !plan.groups.contains(&Group::Waterfall)) {
            return Err(CommandError::usage(
                "there is no waterfall to draw\nhelp: leave out --only and --cpus-sweep, or add --only waterfall",
            ));
        }
    }
    export::check_targets(&plan.exports)
}

/// What was measured is written and shown as far as it goes, also where a picture of it cannot be drawn.
fn finish(plan: &Plan, floor: &Floor) -> Result<Exit, CommandError> {
    let drawn = export::write_drawn(&plan.exports, &Exported::Floor(floor))?;
    if !export::takes_stdout(&plan.exports) {
        show(floor_text::render(floor, plan.histograms, &terminal()).as_bytes())?;
    }
    if let Some(lack) = floor.missing.iter().find(|lack| lack.name == COMMAND && !floor.partial) {
        return Err(CommandError::program(format!(
            "the command was not measured: {}\nhelp: run it by hand, several times; --timeout gives it more time",
            lack.reason
        )));
    }
    match floor.partial {
        true => Ok(Exit::Interrupted),
        false if !drawn => Err(CommandError::unable(
            "the waterfall could not be drawn: no layer of it was measured\nhelp: the page says why",
        )),
        false => Ok(Exit::Done),
    }
}

/// The programs that time their own prints.
pub(super) fn printed(plan: &Plan) -> Result<(Vec<Print>, Vec<Missing>), CommandError> {
    Ok(prints::run(plan)?)
}

/// The programs of the ladder as far as this machine can build them, and why not the rest.
pub(super) fn ladder(folder: &Path) -> Result<(Vec<Rung>, Vec<Missing>), CommandError> {
    let corpus = Corpus::load(None).map_err(CommandError::unable)?;
    let named: Vec<(&str, &Program)> =
        RUNGS.iter().filter_map(|(name, label)| Some((*label, corpus.find(name)?))).collect();
    let programs: Vec<&Program> = named.iter().map(|(_, program)| *program).collect();
    let cache = BuildCache::of_user().map_err(CommandError::unable)?;
    let interrupted = || interrupt::interrupted().is_some();
    let results = prepare_all(&programs, &cache, PrepareOptions::new(&interrupted), &|_| {});
    if interrupted() {
        return Err(launch::LaunchError::Interrupted.into());
    }
    let (mut rungs, mut missing) = (Vec::new(), Vec::new());
    for ((label, _), result) in named.iter().zip(results) {
        match result {
            Ok(built) => rungs.push(rung(label, &built)),
            Err(skipped) => missing.push(lack(label, skipped.reason)),
        }
    }
    match packed(folder) {
        Ok(rung) => rungs.insert(PACKED.1.min(rungs.len()), rung),
        Err(reason) => missing.push(lack(PACKED.0, reason)),
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

/// hello world in the smallest file that the kernel takes. The error is one lower-case line.
fn packed(folder: &Path) -> Result<Rung, String> {
    let architecture = Architecture::host().ok_or("firstbyte writes no executables for this architecture")?;
    let demands = Demands { real_kernels_only: false, large_mappings: false, exhaustive: false };
    let packed =
        packed::image(architecture, b"hello world\n", 0, demands).map_err(|error| error.to_string())?;
    let path = folder.join("packed");
    let written = std::fs::write(&path, packed.image)
        .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)));
    written.map_err(|error| error.to_string())?;
    Ok(Rung { name: PACKED.0.to_owned(), executable: path, argv: vec!["./test".into()] })
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
            FloorError::Interrupted => launch::LaunchError::Interrupted.into(),
            FloorError::Processor { .. } => CommandError::usage(error),
            FloorError::Resource { .. } => CommandError::unable(error),
        }
    }
}
