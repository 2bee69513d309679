//! `firstbyte compare`: compares two documents.

use super::{CommandError, Exit, show, terminal};
use crate::cli::compare::Plan;
use crate::comparison::{compare, same_machine};
use crate::document::read;
use crate::report::text::compare as compare_text;

/// Compares two files and prints what changed.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let [old, new] = [&plan.old, &plan.new].map(|path| read::read(path).map_err(CommandError::usage));
    let document = compare((&plan.old, &old?), (&plan.new, &new?)).map_err(CommandError::usage)?;
    if !plan.force {
        same_machine(&document).map_err(CommandError::usage)?;
    }

    let too_slow = plan.fail_if_slower.map(|limit| document.slower_than(limit));
    let text = if plan.json {
        serde_json::to_string_pretty(&document).map_err(CommandError::unable)? + "\n"
    } else {
        compare_text::render(&document, plan.fail_if_slower, &terminal())
    };
    show(text.as_bytes())?;

    // A program must not pass the gate by vanishing or failing.
    Ok(match too_slow {
        Some(names) if !names.is_empty() => Exit::Missed,
        Some(_) if !document.only_old.is_empty() || !document.untimed().is_empty() => Exit::ProgramFailed,
        _ => Exit::Done,
    })
}
