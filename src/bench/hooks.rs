//! Commands of the user before all runs and after all runs.

use super::hook::Hook;
use crate::document::bench::Failed;
use firstbyte_measure::launch::interrupt;

/// Runs a command before all runs. The error is the message for the user.
pub fn set_up(hook: &Hook) -> Result<(), String> {
    hook.run().map_err(|outcome| {
        let command = &hook.command;
        let quoted = shell_words::quote(command);
        format!("the command `{command}` of --setup {outcome}\nhelp: try it: sh -c {quoted}")
    })
}

/// Runs a command after all runs. Returns an entry for the document if it failed. The results are kept.
pub fn clean_up(hook: &Hook) -> Option<Failed> {
    let command = &hook.command;
    let reason = match hook.run() {
        Err(outcome) => format!("it {outcome}"),
        Ok(()) if interrupt::interrupted().is_some() => {
            "it was interrupted, so files that it should remove may still exist".to_owned()
        }
        Ok(()) => return None,
    };
    let name = format!("the command of --cleanup, `{command}`");
    Some(Failed { name, command: command.to_owned(), reason, cache: None, runs: 1, stderr: Vec::new() })
}
