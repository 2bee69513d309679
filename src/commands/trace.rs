//! `firstbyte trace`: one start-up, every microsecond of it explained.

use super::progress::TraceBars;
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::analysis::notes::TraceNotes;
use crate::analysis::trace_document::{Invocation, trace_document};
use crate::analysis::{Summary, TraceAnalysis};
use crate::bench::cold_runs;
use crate::cli::trace::{Plan, Subject};
use crate::document;
use crate::output::Target;
use crate::report::formats::{Exported, ExportedTrace, Format};
use crate::report::text::trace as trace_text;
use crate::tracing::{Replayed, TraceError, TracePlan, Tracing, replayed};
use crate::tune::{Start, catalogue, remedies};
use firstbyte_measure::launch::Command;
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

/// What must be ready before any file is opened or any run is made.
pub(super) fn prepare(plan: &TracePlan, exports: &[(Format, Target)]) -> Result<(), CommandError> {
    export::check_targets(exports)?;
    plan.each_run.environment.clone().choose();
    let mut input = plan.each_run.input.iter();
    input.try_for_each(|input| export::refuse_overwrite(export::targets(exports), input))
}

/// What must be ready before the tracer is chosen.
pub(super) fn prepare_runs(plan: &TracePlan) -> Result<(), CommandError> {
    plan.cold.iter().try_for_each(|method| cold_runs::enter(*method))?;
    before_launching();
    Ok(())
}

/// An interrupted trace and a failing program are still explained, and the exit status shows it.
pub(super) fn exit(analysis: &TraceAnalysis) -> Exit {
    match analysis.ended_well() {
        _ if analysis.observed.interrupted => Exit::Interrupted,
        true => Exit::Done,
        false => Exit::ProgramFailed,
    }
}

fn command(plan: &Plan, words: &[OsString]) -> Result<Exit, CommandError> {
    let command = Command::new(words).map_err(CommandError::program)?;
    prepare_runs(&plan.runs)?;
    let name = shell_words::join(words.iter().map(|word| word.to_string_lossy()));
    let mut bars = TraceBars;
    let mut tracing = Tracing::begin(&plan.runs, &mut bars)?;
    let analysis = tracing.trace(&command, |analysis| show_first(plan, analysis, &name))?;

    let mut notes = TraceNotes::of(&analysis, name);
    suggest(&mut notes, words, &analysis);
    deliver(plan, &analysis, &notes)?;
    Ok(exit(&analysis))
}

/// Ends each finding with the command that tries what removes its cause, where the catalogue of `tune` has that.
fn suggest(notes: &mut TraceNotes, words: &[OsString], analysis: &TraceAnalysis) {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Ok(catalogue) = catalogue::load(&[]) else { return };
    let findings = notes.findings.iter().map(|text| text.finding.clone()).collect();
    let names = remedies(&catalogue, Start::observed(&words, analysis, findings));
    for (finding, name) in notes.findings.iter_mut().zip(names) {
        finding.tune = name.map(|name| format!("firstbyte tune --only {name} {}", notes.command));
    }
}

fn recording(plan: &Plan, path: &Path) -> Result<Exit, CommandError> {
    export::refuse_overwrite(export::targets(&plan.exports), path)?;
    let Replayed { analysis, notes, .. } =
        replayed(path, plan.runs.along, plan.runs.mark.as_deref()).map_err(CommandError::usage)?;
    let source = format!("From the recording `{}`, by {}.", path.display(), analysis.tracer.backend.name());
    let notes = TraceNotes::of_recording(&analysis, [source].into_iter().chain(notes));
    show_first(plan, &analysis, &notes.command)?;
    deliver(plan, &analysis, &notes)?;
    Ok(Exit::Done)
}

/// One line for each of several commands.
fn table(plan: &Plan, commands: &[(String, Vec<String>)]) -> Result<Exit, CommandError> {
    if !plan.exports.is_empty() {
        return Err(CommandError::usage(
            "`--summary` prints a table and exports nothing\nhelp: export each command's trace: firstbyte trace --export-json FILE CMD",
        ));
    }
    let found = commands.iter().map(|(_, words)| Command::new(words)).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(CommandError::program)?;
    prepare_runs(&plan.runs)?;
    let mut bars = TraceBars;
    let mut tracing = Tracing::begin(&plan.runs, &mut bars)?;

    let (mut rows, mut status): (Vec<(String, Summary)>, _) = (Vec::new(), Exit::Done);
    for ((name, _), command) in commands.iter().zip(found) {
        let analysis = match tracing.trace(&command, |_| Ok::<_, TraceError>(())).map_err(CommandError::from)
        {
            Err(error) if error.exit == Exit::Interrupted && !rows.is_empty() => {
                status = Exit::Interrupted;
                break;
            }
            analysis => analysis?,
        };
        if exit(&analysis) != Exit::Done {
            status = exit(&analysis);
        }
        rows.push((name.clone(), analysis.summary));
        if status == Exit::Interrupted {
            break;
        }
    }
    show(trace_text::table(&rows, &terminal()).as_bytes())?;
    Ok(status)
}

/// Shows what the traced runs say, before any other runs are made, unless an export takes stdout.
fn show_first(plan: &Plan, analysis: &TraceAnalysis, name: &str) -> Result<(), CommandError> {
    if export::takes_stdout(&plan.exports) {
        return Ok(());
    }
    let summary = &analysis.summary;
    let text = match plan {
        Plan { timeline: true, .. } => trace_text::timeline(summary, &terminal()),
        Plan { full: true, .. } => trace_text::full_first_part(summary, name, &terminal()),
        _ => trace_text::first_part(summary, name, &terminal()),
    };
    show(text.as_bytes())
}

/// Writes the exports, and shows the rest of the account.
fn deliver(plan: &Plan, analysis: &TraceAnalysis, notes: &TraceNotes) -> Result<(), CommandError> {
    let summary = &analysis.summary;
    let shown = if plan.timeline || export::takes_stdout(&plan.exports) {
        Ok(())
    } else if plan.full {
        show(trace_text::full_second_part(summary, notes, &terminal()).as_bytes())
    } else {
        let mut text = trace_text::second_part(summary, notes, &terminal());
        if plan.own_code {
            text += &trace_text::own_code(summary, &terminal());
        }
        show(text.as_bytes())
    };

    if !plan.exports.is_empty() {
        write(&plan.exports, analysis, &Invocation::of(analysis, notes, document::this_machine()))?;
    }
    shown
}

/// Writes the exports of one trace.
pub(super) fn write(
    exports: &[(Format, Target)],
    analysis: &TraceAnalysis,
    invocation: &Invocation,
) -> Result<(), CommandError> {
    let document = trace_document(&analysis.summary, invocation);
    let modules = analysis.modules();
    let trace = ExportedTrace::of(&document, &invocation.command, analysis, &modules);
    export::write_drawn(exports, &Exported::Trace(trace)).map(drop)
}
