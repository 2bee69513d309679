//! `firstbyte trace`: one start-up, every microsecond of it explained.

use super::explaining::{add_reports, add_samples, choose, exit, observer_costs, prepare, traced};
use super::progress::Spinner;
use super::{CommandError, Exit, export, show, terminal};
use crate::account::findings::TRAP;
use crate::account::notes::TraceNotes;
use crate::account::replayed::{Replayed, replayed};
use crate::account::trace_document::{Invocation, trace_document};
use crate::account::{Explained, Summary};
use crate::bench::explain::count_cpuids;
use crate::cli::trace::{Plan, Subject};
use crate::report::formats::{Exported, ExportedTrace};
use crate::report::text::trace as trace_text;
use firstbyte_measure::launch::{Command, interrupt};
use firstbyte_measure::machine::Machine;
use firstbyte_measure::tracer::full::FullTracer;
use std::ffi::OsString;
use std::path::Path;

/// Explains the start-up of a command, of several commands, or of a recording.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    prepare(&plan.runs, &plan.exports)?;
    match &plan.subject {
        Subject::Command(words) => command(plan, words),
        Subject::Summary(commands) => table(plan, commands),
        Subject::Recording(path) => recording(plan, path),
    }
}

fn command(plan: &Plan, words: &[OsString]) -> Result<Exit, CommandError> {
    let command = Command::new(words).map_err(CommandError::program)?;
    let (mut tracer, used) = choose(&plan.runs)?;
    let mut explained = traced(command.clone(), &plan.runs, &mut tracer, used)?;
    let name = shell_words::join(words.iter().map(|word| word.to_string_lossy()));

    show_first(plan, &explained, &name)?;
    // the list of steps needs nothing else
    if !plan.timeline || !plan.exports.is_empty() {
        examine(&mut explained, &command, plan, &mut tracer)?;
    }
    let notes = TraceNotes::of(&explained, name);
    deliver(plan, &explained, &notes)?;
    Ok(exit(&explained))
}

/// What runs beside the traced ones find out.
fn examine(
    explained: &mut Explained,
    command: &Command,
    plan: &Plan,
    tracer: &mut FullTracer,
) -> Result<(), CommandError> {
    // who wants one run gets one run
    if !plan.runs.quick && plan.runs.count != Some(1) && !explained.observed.interrupted {
        let _working = Spinner::new("counting");
        explained.cpuid = count_cpuids(command, TRAP, explained.summary.total.median);
        explained.observed.interrupted = interrupt::interrupted().is_some();
    }

    add_samples(explained, command.clone(), &plan.runs)?;
    add_reports(explained, command, &plan.runs)?;

    if plan.runs.overhead && !explained.observed.interrupted {
        match observer_costs(&plan.runs, tracer, &explained.tracer) {
            Err(error) if error.exit == Exit::Interrupted => explained.observed.interrupted = true,
            costs => explained.costs = costs?,
        }
    }
    Ok(())
}

fn recording(plan: &Plan, path: &Path) -> Result<Exit, CommandError> {
    export::spare(export::targets(&plan.exports), path)?;
    let Replayed { explained, notes, .. } = replayed(path, plan.runs.along).map_err(CommandError::usage)?;
    let source = format!("From the recording `{}`, by {}.", path.display(), explained.tracer.backend.name());
    let notes = TraceNotes::of_recording(&explained, [source].into_iter().chain(notes));
    show_first(plan, &explained, &notes.command)?;
    deliver(plan, &explained, &notes)?;
    Ok(Exit::Done)
}

/// One line for each of several commands.
fn table(plan: &Plan, commands: &[(String, Vec<String>)]) -> Result<Exit, CommandError> {
    if !plan.exports.is_empty() {
        return Err(CommandError::usage(
            "`--summary` prints a table and exports nothing\nhelp: export each command's trace: firstbyte trace --export-json FILE -- CMD",
        ));
    }
    let found = commands.iter().map(|(_, words)| Command::new(words)).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(CommandError::program)?;
    let (mut tracer, used) = choose(&plan.runs)?;

    let (mut rows, mut status): (Vec<(String, Summary)>, _) = (Vec::new(), Exit::Done);
    for ((name, _), command) in commands.iter().zip(found) {
        let explained = match traced(command, &plan.runs, &mut tracer, used.clone()) {
            Err(error) if error.exit == Exit::Interrupted && !rows.is_empty() => {
                status = Exit::Interrupted;
                break;
            }
            explained => explained?,
        };
        if exit(&explained) != Exit::Done {
            status = exit(&explained);
        }
        rows.push((name.clone(), explained.summary));
        if status == Exit::Interrupted {
            break;
        }
    }
    show(trace_text::table(&rows, &terminal()).as_bytes())?;
    Ok(status)
}

/// Shows what the traced runs say, before any other runs are made, unless an export takes stdout.
fn show_first(plan: &Plan, explained: &Explained, name: &str) -> Result<(), CommandError> {
    if export::takes_stdout(&plan.exports) {
        return Ok(());
    }
    let summary = &explained.summary;
    let text = match plan {
        Plan { timeline: true, .. } => trace_text::timeline(summary, &terminal()),
        Plan { full: true, .. } => trace_text::full_first_part(summary, name, &terminal()),
        _ => trace_text::first_part(summary, name, &terminal()),
    };
    show(text.as_bytes())
}

/// Writes the exports, and shows the rest of the account.
fn deliver(plan: &Plan, explained: &Explained, notes: &TraceNotes) -> Result<(), CommandError> {
    let Explained { summary, .. } = explained;
    let shown = if plan.timeline || export::takes_stdout(&plan.exports) {
        Ok(())
    } else if plan.full {
        show(trace_text::full_second_part(summary, notes, &terminal()).as_bytes())
    } else {
        show(trace_text::second_part(summary, notes, &terminal()).as_bytes())
    };

    if !plan.exports.is_empty() {
        let machine = serde_json::to_value(Machine::examine()).unwrap_or_default();
        let trace = ExportedTrace {
            document: &trace_document(summary, &Invocation::of(explained, notes, machine)),
            command: &notes.command,
            account: &summary.median_run,
            user_code: summary.user_code.as_ref(),
            run: explained.shown(),
            modules: &explained.modules(),
            cpuid: explained.machine().cpuid,
        };
        export::write_drawn(&plan.exports, &Exported::Trace(trace))?;
    }
    shown
}
