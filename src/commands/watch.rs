//! `firstbyte watch`: all programs that a command or the machine starts.

use super::{CommandError, Exit, export, show, terminal, terminal_behind};
use crate::cli::watch::Plan;
use crate::document::watch::{WatchDocument, WatchTimeline};
use crate::output::visible;
use crate::report::formats::Exported;
use crate::report::text::watch as watch_text;
use crate::watch::{Subject, WatchError, observe};
use firstbyte_measure::launch::interrupt;
use std::io::{IsTerminal, Write};

/// Watches, and shows the results: on stderr beside the output of a command, otherwise on stdout.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    export::check_targets(&plan.exports)?;
    interrupt::catch_signals();
    let (document, timeline) = watched(plan)?;

    export::write_drawn(&plan.exports, &Exported::Watch { document: &document, timeline: &timeline })?;
    if !export::takes_stdout(&plan.exports) {
        show_beside(&plan.watching.subject, &document)?;
    }
    exit(&document)
}

/// While the machine is watched, a terminal shows the results so far.
fn watched(plan: &Plan) -> Result<(WatchDocument, WatchTimeline), WatchError> {
    if !std::io::stdout().is_terminal() || export::takes_stdout(&plan.exports) {
        return observe(&plan.watching, None);
    }
    let mut live = LiveTable::default();
    let observed = observe(&plan.watching, Some(&mut |document: &WatchDocument| live.show(document)));
    live.clear();
    observed
}

/// A table that is drawn again and again at the same place.
#[derive(Default)]
struct LiveTable {
    /// The lines that are shown now.
    lines: usize,
}

impl LiveTable {
    fn show(&mut self, document: &WatchDocument) {
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        let room = size.map_or(24, |size| usize::from(size.ws_row)).saturating_sub(1);
        let text = watch_text::render(document, &terminal());
        let lines: Vec<&str> = text.lines().take(room).collect();
        self.clear();
        self.lines = lines.len();
        print(&(lines.join("\n") + "\n"));
    }

    /// Moves the cursor to the first line and clears everything below (`CUU`, `ED` in `console_codes(4)`).
    fn clear(&mut self) {
        if self.lines > 0 {
            print(&format!("\x1b[{}A\x1b[J", self.lines));
            self.lines = 0;
        }
    }
}

/// A terminal that has gone away needs no table.
fn print(text: &str) {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

fn show_beside(subject: &Subject, document: &WatchDocument) -> Result<(), CommandError> {
    if matches!(subject, Subject::Machine { .. }) {
        return show(watch_text::render(document, &terminal()).as_bytes());
    }
    let mut stderr = std::io::stderr();
    let text = watch_text::render(document, &terminal_behind(&stderr));
    // Without a reader there is nobody to tell either.
    let _ = stderr.write_all(text.as_bytes());
    Ok(())
}

/// A command that failed was still watched to its end.
fn exit(document: &WatchDocument) -> Result<Exit, CommandError> {
    match (document.exit, &document.command) {
        _ if document.partial => Ok(Exit::Interrupted),
        (Some(exit), Some(command)) if !exit.success() => Err(CommandError::program(format!(
            "the command {}: `{}`\nhelp: the results are complete; run it by hand to see why",
            exit.ending(),
            visible(command)
        ))),
        _ => Ok(Exit::Done),
    }
}

impl From<WatchError> for CommandError {
    fn from(error: WatchError) -> CommandError {
        match error {
            WatchError::Command(error) => error.into(),
            WatchError::Unable(_) | WatchError::Status(_) => CommandError::unable(error),
        }
    }
}
