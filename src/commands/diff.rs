//! `firstbyte diff`: two summaries, and what lies between them.

use super::trace::{explain, prepared, replayed, split};
use super::{CommandError, Exit, show, terminal};
use crate::cli::diff::Plan;
use crate::launch::Command;
use crate::machine::Machine;
use crate::report::{diff_json, diff_text};
use crate::trace::Summary;
use crate::tracer::full::FullBackend;
use crate::tracer::replay;
use std::path::Path;

/// One side.
enum Side {
    Recorded(Box<Summary>),
    Command(Command),
}

/// Compares two commands, two recordings, or one of each.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    if let Some(target) = &plan.export {
        target.check().map_err(CommandError::usage)?;
    }
    // what is wrong with the second is told before the first is run
    let sides = [side(&plan.sides[0])?, side(&plan.sides[1])?];
    let mut tracer = None;
    let mut summaries = Vec::new();
    for side in sides {
        summaries.push(match side {
            Side::Recorded(summary) => *summary,
            Side::Command(command) => measured(command, plan, &mut tracer)?,
        });
    }
    let (first, second) = ((&*plan.sides[0], &summaries[0]), (&*plan.sides[1], &summaries[1]));
    if let Some(target) = &plan.export {
        let machine = serde_json::to_value(Machine::examine()).unwrap_or_default();
        target.write(&diff_json::render(first, second, &machine)).map_err(CommandError::unable)?;
        if target.is_stdout() {
            return Ok(Exit::Done);
        }
    }
    let text = diff_text::render(first, second, &terminal());
    show(text.as_bytes())?;
    Ok(Exit::Done)
}

fn side(text: &str) -> Result<Side, CommandError> {
    let path = Path::new(text);
    if replay::is_recording(path) {
        return replayed(path).map(|(_, summary)| Side::Recorded(Box::new(summary)));
    }
    split(text).map(Side::Command)
}

fn measured(
    command: Command,
    plan: &Plan,
    tracer: &mut Option<FullBackend>,
) -> Result<Summary, CommandError> {
    if tracer.is_none() {
        *tracer = Some(prepared(&plan.runs)?.0);
    }
    match tracer {
        Some(tracer) => explain(command, &plan.runs, tracer).map(|explained| explained.summary),
        None => Err(CommandError::unable("no tracer")),
    }
}
