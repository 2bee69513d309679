//! `firstbyte diff`: two summaries, and what lies between them.

use super::trace::{explain, prepared, replayed, split};
use super::{CommandError, Exit, show, terminal};
use crate::cli::diff::Plan;
use crate::launch::Command;
use crate::report::diff_text;
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
    let (first, second) = (&summaries[0], &summaries[1]);
    let text = diff_text::render((&plan.sides[0], first), (&plan.sides[1], second), &terminal());
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
