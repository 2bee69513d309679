//! `firstbyte inspect`.

use super::{CommandError, Exit, show, terminal, units};
use crate::cli::inspect::Args;
use crate::document::Kind;
use crate::document::bench::SCHEMA;
use crate::document::floor::{Calibration, Cost};
use crate::inspect::ld_cache::LdCache;
use crate::inspect::libraries::LibrarySearch;
use crate::inspect::prediction::Prediction;
use crate::inspect::{Files, InspectError, Inspection, MachineFiles, disassembly, inspect};
use crate::output::visible;
use crate::report::text::inspect as inspect_text;
use crate::report::text::inspect::{Estimate, UnitCost};
use firstbyte_measure::arch::cpuid::cpuid_cost;
use firstbyte_measure::machine::Machine;
use std::path::Path;
use std::process::Command;

/// The ways to compile that `--calls` compares.
const COMPILATIONS: [&[&str]; 4] = [&["-O0"], &["-O2"], &["-O0", "-fno-builtin"], &["-O2", "-fno-builtin"]];

impl From<InspectError> for CommandError {
    fn from(error: InspectError) -> CommandError {
        let text = error.to_string();
        // paths and names are those of others
        let (line, help) = text.rsplit_once("\nhelp: ").unwrap_or((&text, "`firstbyte inspect --help`"));
        CommandError::usage(format!("{}\nhelp: {}", visible(line), visible(help)))
    }
}

/// Explains a file, a function, or a compiler's choices.
pub fn run(args: &Args) -> Result<Exit, CommandError> {
    match (&args.calls, &args.file, &args.disassemble) {
        (Some(source), ..) => show_calls(source, args)?,
        (None, Some(file), Some(symbol)) => show_function(file, symbol, args.json())?,
        (None, Some(file), None) => explain(file, args)?,
        (None, None, _) => {}
    }
    Ok(Exit::Done)
}

fn explain(file: &Path, args: &Args) -> Result<(), CommandError> {
    let cache = MachineFiles.read(Path::new("/etc/ld.so.cache")).map(|bytes| LdCache::parse(&bytes));
    let library_path = std::env::var("LD_LIBRARY_PATH").ok();
    let search = LibrarySearch { files: &MachineFiles, library_path, cache: cache.unwrap_or_default() };
    let inspection = inspect(file, &search)?;
    let machine = Machine::examine();
    let estimate = match &inspection.prediction {
        Some(prediction) if !args.counts_only => {
            let units = units::of(&machine, args.recalibrate)?;
            Some(Estimate { costs: costs(&inspection, prediction, &units.costs), source: units.source })
        }
        _ => None,
    };
    if args.json() {
        return json(
            Kind::Inspect,
            &machine,
            &[serde_json::json!({ "file": inspection, "estimate": estimate })],
        );
    }
    let text = inspect_text::render(&inspection, estimate.as_ref());
    show(terminal().wrap_lines(&text, inspect_text::VALUES).as_bytes())
}

/// The page faults and system calls that the unit of an exec holds: those of the plain ELF.
const OF_EXEC: (u64, u64) = (3, 3);
/// The page faults that the unit of a library holds: one for each of its three read-only segments, three where it writes.
const OF_LIBRARY: u64 = 6;
/// How often glibc executes CPUID, to know its processor (`init_cpu_features`, `init_cacheinfo` of 2.36).
const CPUIDS: u64 = 41;

/// What is predicted, times what each costs here. A library's unit holds its system calls and the page faults of a small one.
fn costs(inspection: &Inspection, prediction: &Prediction, units: &Calibration) -> Vec<UnitCost> {
    let names: Vec<&str> = inspection.libraries.iter().map(|library| library.name.as_str()).collect();
    let of_libraries = || prediction.parts.iter().filter(|part| names.contains(&part.name.as_str()));
    let libraries = if units.library.is_some() { of_libraries().count() as u64 } else { 0 };
    let their_calls: u64 = if libraries > 0 { of_libraries().map(|part| part.syscalls).sum() } else { 0 };
    let (relative, looked_up) = relocations(inspection);
    let cpuids = if prediction.starts_glibc { CPUIDS } else { 0 };
    let faults = prediction.page_faults.saturating_sub(OF_EXEC.0 + OF_LIBRARY * libraries);
    let ns = |unit: Option<Cost>| unit.map(|unit| unit.ns);
    let counted = [
        ("process creation, exec, exit", 1, ns(units.exec)),
        ("libraries mapped and linked", libraries, ns(units.library)),
        (
            "further system calls",
            prediction.syscalls.saturating_sub(OF_EXEC.1 + their_calls),
            ns(units.null_syscall),
        ),
        ("further page faults", faults, fault(units)),
        ("relative relocations", relative, ns(units.relative_relocation)),
        ("relocations by name", looked_up, ns(units.symbolic_relocation)),
        ("CPUID instructions of glibc", cpuids, cpuid_cost().map(|cost| cost.0 as f64)),
    ];
    let cost = |(name, count, ns): (&'static str, u64, Option<f64>)| Some(UnitCost { name, count, ns: ns? });
    counted.into_iter().filter(|(_, count, _)| *count > 0).filter_map(cost).collect()
}

/// A start's page faults are of all kinds: what a file's page costs with those around it, and what a private copy does.
fn fault(units: &Calibration) -> Option<f64> {
    match (units.file_fault_around, units.copied_fault) {
        (Some(around), Some(copied)) => Some(f64::midpoint(around.ns, copied.ns)),
        _ => units.file_fault.map(|unit| unit.ns),
    }
}

/// Relative ones, and those that are looked up by name before the program starts.
fn relocations(inspection: &Inspection) -> (u64, u64) {
    let libraries = inspection.libraries.iter().filter_map(|library| library.elf.as_ref());
    libraries.chain(&inspection.elf).fold((0, 0), |(relative, looked_up), elf| {
        let r = &elf.relocations;
        let now = if elf.dynamic.as_ref().is_some_and(|d| d.bind_now) { r.jump_slot } else { 0 };
        (relative + r.relative, looked_up + r.symbolic + now)
    })
}

fn show_function(file: &Path, symbol: &str, as_json: bool) -> Result<(), CommandError> {
    let lines = disassembly::disassemble(file, &MachineFiles.read(file)?, symbol)?;
    if as_json {
        return json(Kind::Disassembly, &Machine::examine(), &lines);
    }
    show(inspect_text::render_lines(&lines).as_bytes())
}

fn show_calls(source: &Path, args: &Args) -> Result<(), CommandError> {
    let rows: Result<Vec<_>, CommandError> =
        COMPILATIONS.iter().map(|options| calls(source, &args.compiler, options)).collect();
    let rows = rows?;
    if args.json() {
        let rows =
            rows.iter().map(|(options, calls)| serde_json::json!({ "options": options, "calls": calls }));
        return json(Kind::Calls, &Machine::examine(), &rows.collect::<Vec<_>>());
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

fn json<T: serde::Serialize>(kind: Kind, machine: &Machine, results: &[T]) -> Result<(), CommandError> {
    let document = serde_json::json!({
        "schema": SCHEMA,
        "kind": kind,
        "tool": { "name": "firstbyte", "version": env!("CARGO_PKG_VERSION") },
        "machine": machine,
        "results": results,
    });
    let text = serde_json::to_string_pretty(&document).map_err(CommandError::unable)?;
    show((text + "\n").as_bytes())
}
