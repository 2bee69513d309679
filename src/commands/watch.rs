//! `firstbyte watch`: all programs that a command or the machine starts.

use super::{CommandError, Exit, export, show, terminal, terminal_behind};
use crate::cli::watch::Plan;
use crate::document::watch::{WatchDocument, WatchTimeline};
use crate::fleet::{Exporter, FleetError, FleetPlan, Hooks};
use crate::output::visible;
use crate::report::formats::Exported;
use crate::report::formats::openmetrics::{Dialect, render};
use crate::report::text::watch as watch_text;
use crate::watch::{Audience, Subject, WatchError, observe};
use firstbyte_measure::launch::interrupt;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Watches, and shows the results: on stderr beside the output of a command, otherwise on stdout.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    export::check_targets(&plan.exports)?;
    interrupt::catch_signals();
    let exporter = plan.fleet.as_ref().map(exporter).transpose()?;
    let (document, timeline) = watched(plan, exporter)?;

    export::write_drawn(&plan.exports, &Exported::Watch { document: &document, timeline: &timeline })?;
    if !export::takes_stdout(&plan.exports) {
        show_beside(&plan.watching.subject, &document)?;
    }
    exit(&document)
}

/// Starts to export to monitoring, and says where.
fn exporter(plan: &FleetPlan) -> Result<Exporter, CommandError> {
    let hooks = Hooks {
        open: |exposition| render(exposition, Dialect::OpenMetrics),
        older: |exposition| render(exposition, Dialect::Prometheus),
        tell: |line| eprintln!("warning: {line}"),
    };
    let exporter = Exporter::start(plan, hooks)?;
    if let Some(address) = exporter.address {
        eprintln!("metrics: http://{address}/metrics");
    }
    Ok(exporter)
}

/// While something is watched, a terminal shows the results so far, and monitoring gets them when it asks. A command has
/// the terminal for itself.
fn watched(plan: &Plan, exporter: Option<Exporter>) -> Result<(WatchDocument, WatchTimeline), WatchError> {
    let is_ours = matches!(plan.watching.subject, Subject::Machine { .. });
    let is_shown = is_ours && std::io::stdout().is_terminal() && !export::takes_stdout(&plan.exports);
    let mut viewers = Viewers { table: is_shown.then(LiveTable::default), exporter };
    let observed = observe(&plan.watching, &mut viewers);

    if let Some(table) = &mut viewers.table {
        table.clear();
    }
    if let (Some(exporter), Ok((document, _))) = (viewers.exporter, &observed) {
        exporter.finish(document.clone());
    }
    observed
}

/// Who gets the results so far.
struct Viewers {
    table: Option<LiveTable>,
    exporter: Option<Exporter>,
}

impl Audience for Viewers {
    fn wants_results(&self) -> bool {
        self.table.as_ref().is_some_and(LiveTable::is_due)
            || self.exporter.as_ref().is_some_and(Exporter::is_asked)
    }

    fn take_results(&mut self, results: WatchDocument) {
        if let Some(table) = self.table.as_mut().filter(|table| table.is_due()) {
            table.show(&results);
        }
        if let Some(exporter) = self.exporter.as_ref().filter(|exporter| exporter.is_asked()) {
            exporter.hand_over(results);
        }
    }
}

/// A table that is drawn again and again at the same place.
struct LiveTable {
    /// The lines that are shown now.
    lines: usize,
    shown: Instant,
}

/// How often it is drawn.
const SHOW: Duration = Duration::from_secs(1);

impl Default for LiveTable {
    fn default() -> LiveTable {
        LiveTable { lines: 0, shown: Instant::now() }
    }
}

impl LiveTable {
    fn is_due(&self) -> bool {
        self.shown.elapsed() >= SHOW
    }

    fn show(&mut self, document: &WatchDocument) {
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        let room = size.map_or(24, |size| usize::from(size.ws_row)).saturating_sub(1);
        let text = watch_text::render(document, &terminal());
        let lines: Vec<&str> = text.lines().take(room).collect();
        self.clear();
        (self.lines, self.shown) = (lines.len(), Instant::now());
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

impl From<FleetError> for CommandError {
    fn from(error: FleetError) -> CommandError {
        match error {
            FleetError::Thread(_) => CommandError::unable(error),
            FleetError::Listen { .. } | FleetError::Textfile(_) => CommandError::usage(error),
        }
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
