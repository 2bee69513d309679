//! `firstbyte inspect`.

use super::{CommandError, Exit, show};
use crate::cli::inspect::Args;
use crate::floor::calibration::{Calibration, Cost};
use crate::inspect::cache::Cache;
use crate::inspect::libraries::Search;
use crate::inspect::{Files, InspectError, Inspection, MachineFiles, disassembly, inspect};
use crate::machine::Machine;
use crate::report::document::SCHEMA;
use crate::report::inspect_text::{self, UnitCost};
use std::path::Path;
use std::process::Command;

/// The ways to compile that `--calls` compares.
const COMPILATIONS: [&[&str]; 4] = [&["-O0"], &["-O2"], &["-O0", "-fno-builtin"], &["-O2", "-fno-builtin"]];

impl From<InspectError> for CommandError {
    fn from(error: InspectError) -> CommandError {
        CommandError::usage(error)
    }
}

/// Explains a file, a function, or a compiler's choices.
pub fn run(args: &Args) -> Result<Exit, CommandError> {
    match (&args.calls, &args.file, &args.disassemble) {
        (Some(source), ..) => show_calls(source, args)?,
        (None, Some(file), Some(symbol)) => show_function(file, symbol, args.json)?,
        (None, Some(file), None) => explain(file, args.json)?,
        (None, None, _) => {}
    }
    Ok(Exit::Done)
}

fn explain(file: &Path, as_json: bool) -> Result<(), CommandError> {
    let cache = MachineFiles.read(Path::new("/etc/ld.so.cache")).map(|bytes| Cache::parse(&bytes));
    let library_path = std::env::var("LD_LIBRARY_PATH").ok();
    let search = Search { files: &MachineFiles, library_path, cache: cache.unwrap_or_default() };
    let inspection = inspect(file, &search)?;
    let machine = Machine::examine();
    if as_json {
        return json(&machine, &[&inspection]);
    }
    let costs = Calibration::load(&machine).map_or_else(Vec::new, |units| costs(&inspection, &units));
    show(inspect_text::render(&inspection, &costs).as_bytes())
}

/// What is predicted, times what each costs here. A library's unit holds its system calls and page faults.
fn costs(inspection: &Inspection, units: &Calibration) -> Vec<UnitCost> {
    let (Some(prediction), Some(elf)) = (&inspection.prediction, &inspection.elf) else { return Vec::new() };
    let all = inspection.libraries.iter().filter_map(|l| l.elf.as_ref()).chain([elf]);
    let (relative, looked_up) = all.fold((0, 0), |(relative, looked_up), elf| {
        let r = &elf.relocations;
        let now = if elf.dynamic.as_ref().is_some_and(|d| d.bind_now) { r.jump_slot } else { 0 };
        (relative + r.relative, looked_up + r.symbolic + now)
    });
    let counted = [
        ("process creation and exec", 1, units.exec),
        ("system calls", prediction.syscalls, units.null_syscall),
        ("page faults", prediction.page_faults, units.file_fault),
        ("relative relocations", relative, units.relative_relocation),
        ("relocations by name", looked_up, units.symbolic_relocation),
    ];
    let cost = |(name, count, unit): (&'static str, u64, Option<Cost>)| {
        unit.map(|unit| UnitCost { name, count, ns: unit.ns })
    };
    counted.into_iter().filter_map(cost).collect()
}

fn show_function(file: &Path, symbol: &str, as_json: bool) -> Result<(), CommandError> {
    let lines = disassembly::disassemble(file, &MachineFiles.read(file)?, symbol)?;
    if as_json {
        return json(&Machine::examine(), &lines);
    }
    show(inspect_text::render_lines(&lines).as_bytes())
}

fn show_calls(source: &Path, args: &Args) -> Result<(), CommandError> {
    let rows: Result<Vec<_>, CommandError> =
        COMPILATIONS.iter().map(|options| calls(source, &args.compiler, options)).collect();
    let rows = rows?;
    if args.json {
        let rows =
            rows.iter().map(|(options, calls)| serde_json::json!({ "options": options, "calls": calls }));
        return json(&Machine::examine(), &rows.collect::<Vec<_>>());
    }
    show(inspect_text::render_calls(&rows).as_bytes())
}

/// The options, and whom main calls when compiled with them.
fn calls(source: &Path, compiler: &Path, options: &[&str]) -> Result<(String, Vec<String>), CommandError> {
    let folder = tempfile::tempdir().map_err(CommandError::unable)?;
    let object = folder.path().join("object.o");
    let mut command = Command::new(compiler);
    command.args(options).arg("-c").arg("-o").arg(&object).arg(source);
    let output = command.output().map_err(|e| {
        let compiler = compiler.display();
        CommandError::unable(format!(
            "`{compiler}` cannot be run: {e}\nhelp: `apt-get install gcc`, or name another by `--compiler`"
        ))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let help = format!("help: `{} -c {}` shows it again", compiler.display(), source.display());
        return Err(CommandError::usage(format!(
            "`{}` does not compile: {}\n{help}",
            source.display(),
            said.trim()
        )));
    }
    let lines = disassembly::disassemble(source, &MachineFiles.read(&object)?, "main")?;
    Ok((options.join(" "), lines.into_iter().filter_map(|line| line.calls).collect()))
}

fn json<T: serde::Serialize>(machine: &Machine, results: &[T]) -> Result<(), CommandError> {
    let document = serde_json::json!({
        "schema": SCHEMA,
        "tool": { "name": "firstbyte", "version": env!("CARGO_PKG_VERSION") },
        "machine": machine,
        "results": results,
    });
    let text = serde_json::to_string_pretty(&document).map_err(CommandError::unable)?;
    show((text + "\n").as_bytes())
}
