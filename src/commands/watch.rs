//! `firstbyte watch`: all programs that a command or the machine starts.

use super::live_table::LiveTable;
use super::{CommandError, Exit, export, show, terminal, terminal_behind, trace};
use crate::cli::watch::Plan;
use crate::document::{self, watch::WatchDocument};
use crate::output::{Target, say, visible, visible_path};
use crate::prometheus::{Callbacks, Exporter, PrometheusError, PrometheusPlan};
use crate::report::formats::openmetrics::{Dialect, render};
use crate::report::formats::{Exported, Format};
use crate::report::text::terminal::Terminal;
use crate::report::text::{trace as trace_text, watch as watch_text};
use crate::tracing::started;
use crate::watch::{Audience, Subject, WatchError, Watched, observe};
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::tracer::starts::TracedStarts;
use std::io::{IsTerminal, Write};

/// Watches, and shows the results: on stderr beside the output of a command, otherwise on stdout.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    let all: Vec<_> = plan.exports.iter().chain(&plan.trace_export).cloned().collect();
    export::check_targets(&all)?;
    interrupt::catch_signals();
    let exporter = plan.prometheus.as_ref().map(exporter).transpose()?;
    let is_shown = !export::takes_stdout(&all);
    let Watched { document, timeline, starts } = watched(plan, exporter, is_shown)?;

    export::write_drawn(&plan.exports, &Exported::Watch { document: &document, timeline: &timeline })?;
    if is_shown {
        show_beside(&plan.watching.subject, &|terminal| watch_text::render(&document, terminal))?;
    }
    if let Some(traced) = starts {
        explain(plan, traced, is_shown)?;
    }
    exit(&document)
}

/// Explains the starts that were traced.
fn explain(plan: &Plan, traced: TracedStarts, is_shown: bool) -> Result<(), CommandError> {
    let started = match started(traced) {
        Ok(started) => started,
        Err(why) if plan.trace_export.is_some() => return Err(CommandError::program(why)),
        Err(why) => {
            say(format_args!("warning: {why}"));
            return Ok(());
        }
    };
    if is_shown {
        let source = source(plan.trace_export.as_ref());
        let text = |terminal: &Terminal| {
            format!("\n{}", trace_text::whole(&started.analysis.summary, &started.notes, &source, terminal))
        };
        show_beside(&plan.watching.subject, &text)?;
    }
    let invocation = started.invocation(document::this_machine());
    trace::write(plan.trace_export.as_slice(), &started.analysis, &invocation)
}

/// What shows the rest of a trace.
fn source(export: Option<&(Format, Target)>) -> String {
    match export {
        Some((Format::Recording, target)) => {
            format!("firstbyte trace --full --replay {}", visible_path(target.path()))
        }
        Some((_, target)) => format!("firstbyte report {}", visible_path(target.path())),
        None => "--export-trace FILE".to_owned(),
    }
}

/// Starts to export to monitoring, and says where.
fn exporter(plan: &PrometheusPlan) -> Result<Exporter, CommandError> {
    let callbacks = Callbacks {
        open: |exposition| render(exposition, Dialect::OpenMetrics),
        older: |exposition| render(exposition, Dialect::Prometheus),
        tell: |line| say(format_args!("warning: {line}")),
    };
    let exporter = Exporter::start(plan, callbacks)?;
    if let Some(address) = exporter.address {
        say(format_args!("metrics: http://{address}/metrics"));
        if !address.ip().is_loopback() {
            say(format_args!(
                "warning: other machines that reach {address} can read which programs start here; help: --listen 127.0.0.1:{}",
                address.port()
            ));
        }
    }
    Ok(exporter)
}

/// While something is watched, a terminal shows the results so far, and monitoring gets them when it asks. A command has
/// the terminal for itself.
fn watched(plan: &Plan, exporter: Option<Exporter>, is_shown: bool) -> Result<Watched, WatchError> {
    let is_ours = matches!(plan.watching.subject, Subject::Machine { .. });
    let is_live = is_ours && std::io::stdout().is_terminal() && is_shown;
    let mut viewers = Viewers { table: is_live.then(LiveTable::default), exporter };
    let observed = observe(&plan.watching, &mut viewers);

    if let Some(table) = &mut viewers.table {
        table.clear();
    }
    if let (Some(exporter), Ok(observed)) = (viewers.exporter, &observed) {
        exporter.finish(observed.document.clone());
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
            table.show(&watch_text::render(&results, &terminal()));
        }
        if let Some(exporter) = self.exporter.as_ref().filter(|exporter| exporter.is_asked()) {
            exporter.hand_over(results);
        }
    }
}

/// Shows a text: on stderr beside the output of a command, otherwise on stdout.
fn show_beside(subject: &Subject, text: &dyn Fn(&Terminal) -> String) -> Result<(), CommandError> {
    if matches!(subject, Subject::Machine { .. }) {
        return show(text(&terminal()).as_bytes());
    }
    let mut stderr = std::io::stderr();
    let text = text(&terminal_behind(&stderr));
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

impl From<PrometheusError> for CommandError {
    fn from(error: PrometheusError) -> CommandError {
        match error {
            PrometheusError::Thread(_) => CommandError::unable(error),
            PrometheusError::Listen { .. } | PrometheusError::Textfile(_) => CommandError::usage(error),
        }
    }
}

impl From<WatchError> for CommandError {
    fn from(error: WatchError) -> CommandError {
        match error {
            WatchError::Program(error) => CommandError::program(error),
            WatchError::Command(error) => error.into(),
            WatchError::Unable(_) | WatchError::Tracing(_) | WatchError::Status(_) => {
                CommandError::unable(error)
            }
        }
    }
}
