//! `firstbyte compare`: compares two documents.

use super::{CommandError, Exit, show, terminal};
use crate::cli::compare::Plan;
use crate::comparison::watches::compare_watches;
use crate::comparison::{compare, same_machine};
use crate::document::read;
use crate::document::watch::WatchDocument;
use crate::report::text::compare::Gate;
use crate::report::text::{compare as compare_text, watch_compare as watch_text};
use serde::Serialize;

/// Compares two files and prints what changed.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    // Once: they may be pipes.
    let [old, new] = [&plan.old, &plan.new].map(|path| read::text(path).map_err(CommandError::usage));
    let (old, new) = (old?, new?);
    match WatchDocument::parse_if_it_is_one(&old, &plan.old).map_err(CommandError::usage)? {
        Some(old) => watches(plan, &old, &new),
        None => measurements(plan, &old, &new),
    }
}

fn measurements(plan: &Plan, old: &str, new: &str) -> Result<Exit, CommandError> {
    let old = read::parse(old, &plan.old).map_err(CommandError::usage)?;
    let new = read::parse(new, &plan.new).map_err(CommandError::usage)?;
    let document = compare((&plan.old, &old), (&plan.new, &new)).map_err(CommandError::usage)?;
    if !plan.force {
        same_machine(&document).map_err(CommandError::usage)?;
    }

    let too_slow = plan.fail_if_slower.map(|limit| document.slower_than(limit));
    let gate = plan.fail_if_slower.map(|limit| Gate { limit, ignore_failure: plan.ignore_failure });
    print(plan, &document, || compare_text::render(&document, gate, &terminal()))?;
    let is_unsure = !document.only_old.is_empty()
        || !document.untimed().is_empty()
        || !plan.ignore_failure && !document.failed().is_empty();

    // A program must not pass the gate by vanishing or failing.
    Ok(match too_slow {
        Some(names) if !names.is_empty() => Exit::Missed,
        Some(_) if is_unsure => Exit::ProgramFailed,
        _ => Exit::Done,
    })
}

/// Compares two files of `firstbyte watch`.
fn watches(plan: &Plan, old: &WatchDocument, new: &str) -> Result<Exit, CommandError> {
    if plan.fail_if_slower.is_some() {
        return Err(CommandError::usage(
            "`--fail-if-slower` cannot judge a watch, which is a single run\n\
             help: leave it out, or compare files of `firstbyte bench`",
        ));
    }
    let new = WatchDocument::parse(new, &plan.new).map_err(CommandError::usage)?;
    let comparison = compare_watches((&plan.old, old), (&plan.new, &new));
    print(plan, &comparison, || watch_text::render(&comparison, &terminal()))?;
    Ok(Exit::Done)
}

/// Prints a document, or else the text of it.
fn print(plan: &Plan, document: &impl Serialize, text: impl Fn() -> String) -> Result<(), CommandError> {
    let text = if plan.json {
        serde_json::to_string_pretty(document).map_err(CommandError::unable)? + "\n"
    } else {
        text()
    };
    show(text.as_bytes())
}
