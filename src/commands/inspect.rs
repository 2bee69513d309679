//! `firstbyte inspect`: what an executable contains, and what its start should cost.

use super::{CommandError, Exit, before_launching, show, terminal};
use crate::cli::inspect::Args;
use crate::document::inspect::{InspectDocument, InspectResults, InspectedFile, StartCost};
use crate::floor::estimate::estimate;
use crate::floor::unit_costs;
use crate::inspect::compilations::compilations;
use crate::inspect::{
    Environment, FileView, InspectError, Inspection, MachineFiles, Surroundings, disassembly, inspect,
};
use crate::output::{say, visible};
use crate::report::text::inspect as inspect_text;
use firstbyte_measure::machine::Machine;
use firstbyte_measure::own_folder::OwnFolder;
use std::path::{Path, PathBuf};

/// Explains a file, a function, or a compiler's choices.
pub fn run(args: &Args) -> Result<Exit, CommandError> {
    match (&args.calls, &args.file, &args.disassemble) {
        (Some(source), ..) => show_calls(source, args)?,
        (None, Some(file), Some(symbol)) => show_function(&found(file), symbol, args.json())?,
        (None, Some(file), None) => explain(&found(file), args)?,
        (None, None, _) => {}
    }
    Ok(Exit::Done)
}

/// What a program is started with by this process.
fn surroundings() -> Surroundings<'static> {
    let user = rustix::process::getuid().as_raw();
    Surroundings { files: &MachineFiles, environment: Environment::of_this_process(), user }
}

/// A name without a slash is that of a file here, or that of a program in PATH.
fn found(file: &Path) -> PathBuf {
    let is_name = |name: &&str| !name.contains('/') && MachineFiles.facts(file).is_none();
    let in_path = |name| surroundings().in_path(name).0;
    file.to_str().filter(is_name).and_then(in_path).unwrap_or_else(|| file.to_owned())
}

fn explain(file: &Path, args: &Args) -> Result<(), CommandError> {
    let inspection = inspect(file, &surroundings())?;
    let machine = Machine::examine();
    let estimate = if args.counts_only { None } else { estimated(&inspection, &machine, args.recalibrate)? };

    if args.json() {
        let results = InspectResults::File(vec![InspectedFile { file: inspection, estimate }]);
        return json(machine, results);
    }
    let text = inspect_text::render(&inspection, estimate.as_ref());
    show(terminal().wrap_lines(&text, inspect_text::VALUES).as_bytes())
}

/// The costs of this machine are measured if none are kept, or on request.
fn estimated(
    inspection: &Inspection,
    machine: &Machine,
    again: bool,
) -> Result<Option<StartCost>, CommandError> {
    if inspection.prediction.is_none() {
        return Ok(None);
    }
    let units = match unit_costs::kept(machine) {
        Some(kept) if !again => kept,
        _ => {
            say("measuring the costs of this machine once; this takes a few seconds");
            before_launching();
            unit_costs::measure(machine, again)?
        }
    };
    Ok(estimate(inspection, units))
}

fn show_function(file: &Path, symbol: &str, as_json: bool) -> Result<(), CommandError> {
    let lines = disassembly::disassemble(file, &MachineFiles.read(file)?, symbol)?;
    if as_json {
        return json(Machine::examine(), InspectResults::Function(lines));
    }
    show(inspect_text::render_lines(&lines).as_bytes())
}

fn show_calls(source: &Path, args: &Args) -> Result<(), CommandError> {
    let folder = OwnFolder::temporary()?;
    let rows = compilations(source, &args.compiler, folder.path())?;
    if args.json() {
        return json(Machine::examine(), InspectResults::Compilations(rows));
    }
    show(inspect_text::render_calls(&rows).as_bytes())
}

fn json(machine: Machine, results: InspectResults) -> Result<(), CommandError> {
    let document = InspectDocument::new(machine, results);
    let text = serde_json::to_string_pretty(&document).map_err(CommandError::unable)?;
    show((text + "\n").as_bytes())
}

impl From<InspectError> for CommandError {
    fn from(error: InspectError) -> CommandError {
        let text = error.to_string();
        // paths and names come from foreign files
        let (line, help) = text.rsplit_once("\nhelp: ").unwrap_or((&text, "`firstbyte inspect --help`"));
        let message = format!("{}\nhelp: {}", visible(line), visible(help));
        match error {
            InspectError::NoCompiler { .. } => CommandError::unable(message),
            _ => CommandError::usage(message),
        }
    }
}
