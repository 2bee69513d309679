//! `firstbyte diff`: two start-ups, and what changed between them.

use super::progress::TraceBars;
use super::trace::{exit, prepare, prepare_runs};
use super::{CommandError, Exit, export, show, terminal};
use crate::analysis::diff_document::{came, diff_document};
use crate::analysis::difference::{Compared, Side, compare_totals};
use crate::analysis::findings::Finding;
use crate::analysis::notes::{executions, side_notes};
use crate::analysis::{Summary, TraceAnalysis};
use crate::cli::diff::Plan;
use crate::document;
use crate::document::diff::DiffChange;
use crate::report::formats::Exported;
use crate::report::text::diff as diff_text;
use crate::tracing::{Replayed, TraceError, Tracing, replayed};
use firstbyte_measure::launch::{Command, Environment, interrupt};
use firstbyte_measure::tracer::replay;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One side before it is measured.
enum SideSource {
    Recorded(Box<MeasuredSide>),
    Command(Command),
}

/// One side's runs.
struct MeasuredSide {
    summary: Summary,
    findings: Vec<Finding>,
    every_finding: Vec<Finding>,
    /// The round and the total of each run, in nanoseconds.
    totals: Vec<(u32, f64)>,
    notes: Vec<String>,
    executions: Option<String>,
    /// The variables that change how programs start; `None` if a recording does not list them.
    environment: Option<BTreeMap<String, String>>,
    exit: Exit,
}

/// Compares two commands, two recordings, or one of each.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    prepare(&plan.runs, &plan.exports)?;
    let mut recorded = plan.sides.iter().map(Path::new).filter(|path| replay::is_recording(path));
    recorded.try_for_each(|path| export::refuse_overwrite(export::targets(&plan.exports), path))?;

    // An error in the second is reported before the first is run.
    let sources = [source(plan, 0)?, source(plan, 1)?];
    let (mut measured, in_turn) = measure(sources, plan)?;
    let different = different_environments(&measured);
    measured[1].notes.extend(different);
    deliver(plan, &measured, in_turn)?;
    if interrupt::interrupted().is_some() {
        return Ok(Exit::Interrupted);
    }
    let failed = measured.iter().map(|side| side.exit).find(|exit| *exit != Exit::Done);
    Ok(failed.unwrap_or(Exit::Done))
}

/// Compares two versions of a command, each in its folder, in interleaved runs. `first` gets what the second does and the first
/// does not, before the comparison is printed.
pub(super) fn between(
    plan: &Plan,
    commands: &[Command; 2],
    folders: [&Path; 2],
    first: impl FnOnce(&[DiffChange]) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    prepare(&plan.runs, &plan.exports)?;
    let mut measured = interleaved(commands, plan)?;
    for (side, folder) in measured.iter_mut().zip(folders) {
        side.summary.folder = Some(folder.to_string_lossy().into());
    }
    first(&came(&measured[0].summary, &measured[1].summary))?;
    deliver(plan, &measured, true)
}

fn source(plan: &Plan, side: usize) -> Result<SideSource, CommandError> {
    let text = &plan.sides[side];
    let path = Path::new(text);
    if !replay::is_recording(path) {
        let words = plan.words(text).map_err(CommandError::usage)?;
        return Command::new(&words)
            .map(SideSource::Command)
            .map_err(|error| if path.is_file() { no_side(text) } else { CommandError::program(error) });
    }
    let Replayed { analysis, notes, environment } =
        replayed(path, plan.runs.along, plan.runs.mark.as_deref()).map_err(CommandError::usage)?;
    let (findings, every_finding) = (analysis.findings(), analysis.every_finding());
    let TraceAnalysis { summary, totals, .. } = analysis;
    // as with a replay: a failure during the recording is not a failure of this command
    Ok(SideSource::Recorded(Box::new(MeasuredSide {
        summary,
        findings,
        every_finding,
        totals,
        notes,
        executions: None,
        environment,
        exit: Exit::Done,
    })))
}

/// A file that cannot be compared, such as another document of firstbyte.
fn no_side(path: &str) -> CommandError {
    CommandError::usage(format!(
        "`{path}` is neither an executable program nor a recording\n\
         help: firstbyte trace --record FILE CMD makes a recording"
    ))
}

/// The names of the variables that are not the same on both sides, in a sentence.
fn different_environments([a, b]: &[MeasuredSide; 2]) -> Option<String> {
    let (a, b) = (a.environment.as_ref()?, b.environment.as_ref()?);
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let different: Vec<&str> =
        names.into_iter().filter(|name| a.get(*name) != b.get(*name)).map(|s| &**s).collect();
    let text = || format!("The environments differ, which may change the start: {}.", different.join(", "));
    (!different.is_empty()).then(text)
}

/// Both sides, and whether their runs were interleaved.
fn measure(sources: [SideSource; 2], plan: &Plan) -> Result<([MeasuredSide; 2], bool), CommandError> {
    match sources {
        [SideSource::Recorded(a), SideSource::Recorded(b)] => Ok(([*a, *b], false)),
        [SideSource::Recorded(a), SideSource::Command(b)] => Ok(([*a, alone(&b, plan)?], false)),
        [SideSource::Command(a), SideSource::Recorded(b)] => Ok(([alone(&a, plan)?, *b], false)),
        [SideSource::Command(a), SideSource::Command(b)] => Ok((interleaved(&[a, b], plan)?, true)),
    }
}

fn alone(command: &Command, plan: &Plan) -> Result<MeasuredSide, CommandError> {
    prepare_runs(&plan.runs)?;
    let mut bars = TraceBars;
    let analysis = Tracing::begin(&plan.runs, &mut bars)?.trace(command, |_| Ok::<_, TraceError>(()))?;
    Ok(MeasuredSide::from(analysis))
}

fn interleaved(commands: &[Command; 2], plan: &Plan) -> Result<[MeasuredSide; 2], CommandError> {
    prepare_runs(&plan.runs)?;
    let mut bars = TraceBars;
    let analyses = Tracing::begin(&plan.runs, &mut bars)?.trace_both(commands)?;
    Ok(analyses.map(MeasuredSide::from))
}

impl From<TraceAnalysis> for MeasuredSide {
    fn from(analysis: TraceAnalysis) -> MeasuredSide {
        let (notes, exit) = (side_notes(&analysis), exit(&analysis));
        let environment = Some(Environment::of_programs().record());
        let executions = Some(executions(&analysis));
        MeasuredSide {
            findings: analysis.findings(),
            every_finding: analysis.every_finding(),
            summary: analysis.summary,
            totals: analysis.totals,
            notes,
            executions,
            environment,
            exit,
        }
    }
}

fn deliver(plan: &Plan, measured: &[MeasuredSide; 2], in_turn: bool) -> Result<(), CommandError> {
    let [a, b] = measured.each_ref().map(|side| &side.totals[..]);
    let side = |n: usize| Side {
        name: &plan.sides[n],
        summary: &measured[n].summary,
        notes: measured[n].notes.clone(),
        executions: measured[n].executions.clone(),
        findings: measured[n].findings.clone(),
        every_finding: measured[n].every_finding.clone(),
    };
    let comparison = compare_totals(a, b, in_turn, plan.runs.seed);
    let compared = Compared { sides: [0, 1].map(side), comparison, in_turn };

    if !plan.exports.is_empty() {
        let machine = document::this_machine();
        export::write_drawn(&plan.exports, &Exported::Diff(&diff_document(&compared, machine)))?;
    }
    if !export::takes_stdout(&plan.exports) {
        let render = if plan.full { diff_text::full } else { diff_text::first_screen };
        show(render(&compared, &terminal()).as_bytes())?;
    }
    Ok(())
}
