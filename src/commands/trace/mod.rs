//! `firstbyte trace`: runs, accounts, summary, renderings.

pub(super) mod observe;

use self::observe::{Observed, observe};
use super::{CommandError, Exit, before_launching, show, terminal};
use crate::cli::trace::{Plan, Runs, Subject};
use crate::launch::{Command, ExitStatus};
use crate::report::trace_text::{self, Context};
use crate::stats;
use crate::trace::binaries::FileBinaries;
use crate::trace::{Account, Summary};
use crate::tracer::Tracer;
use crate::tracer::full::{FullBackend, choose_full};
use crate::units::display_nanos;

/// Explains a command's start-up, several commands' or a recording's.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    for (_, target) in &plan.exports {
        target.check().map_err(CommandError::usage)?;
    }
    match &plan.subject {
        Subject::Command(words) => command(plan, words),
        Subject::Summary(commands) => table(plan, commands),
        Subject::Recording(_) => Err(CommandError::usage("replaying is not there yet")),
    }
}

fn command(plan: &Plan, words: &[std::ffi::OsString]) -> Result<Exit, CommandError> {
    let command = Command::new(words).map_err(CommandError::program)?;
    let (mut tracer, reason) = prepared(&plan.runs)?;
    let explained = explain(command, &plan.runs, &mut tracer)?;
    let mut context = explained.context(&tracer, &reason);
    context.command = shell_words::join(words.iter().map(|word| word.to_string_lossy()));
    let summary = &explained.summary;
    let terminal = terminal();
    let text = if plan.timeline {
        trace_text::timeline(summary, &terminal)
    } else {
        trace_text::render(summary, &context, &terminal)
    };
    show(text.as_bytes())?;
    Ok(explained.exit())
}

fn table(plan: &Plan, commands: &[String]) -> Result<Exit, CommandError> {
    let mut split = Vec::new();
    for command in commands {
        let words = shell_words::split(command).map_err(|error| {
            CommandError::usage(format!(
                "`{command}` cannot be split into words: {error}\nhelp: close its quotes"
            ))
        })?;
        split.push(Command::new(&words).map_err(CommandError::program)?);
    }
    let (mut tracer, _) = prepared(&plan.runs)?;
    let (mut rows, mut exit) = (Vec::new(), Exit::Done);
    for (name, command) in commands.iter().zip(split) {
        let explained = explain(command, &plan.runs, &mut tracer)?;
        if explained.exit() != Exit::Done {
            exit = explained.exit();
        }
        rows.push((name.clone(), explained.summary));
    }
    show(trace_text::table(&rows, &terminal()).as_bytes())?;
    Ok(exit)
}

/// The tracer, and why this one.
pub(super) fn prepared(runs: &Runs) -> Result<(FullBackend, String), CommandError> {
    before_launching();
    choose_full(runs.backend).map_err(CommandError::unable)
}

/// One command's runs, and what they amount to.
pub(super) struct Explained {
    pub(super) summary: Summary,
    pub(super) observed: Observed,
    exit: ExitStatus,
}

/// Runs a command and sets its runs side by side.
pub(super) fn explain(
    command: Command,
    runs: &Runs,
    tracer: &mut FullBackend,
) -> Result<Explained, CommandError> {
    let name = command.words().join(" ");
    let observed = observe(command, runs, tracer)?;
    let binaries = FileBinaries::default();
    let accounts: Result<Vec<Account>, _> =
        observed.recordings.iter().map(|recording| Account::of(recording, &binaries)).collect();
    let summary = Summary::of(accounts.map_err(CommandError::program)?);
    let (Some(summary), Some(first)) = (summary, observed.recordings.first()) else {
        let reason = observed.rejected.first().map_or("no run was made", String::as_str);
        return Err(CommandError::program(format!(
            "no run of `{name}` counts: {reason}\nhelp: run it by hand, and see what it does"
        )));
    };
    Ok(Explained { summary, exit: first.exit, observed })
}

impl Explained {
    /// A program that fails is explained all the same, and the exit status says so.
    fn exit(&self) -> Exit {
        if self.exit.success() { Exit::Done } else { Exit::ProgramFailed }
    }

    fn context(&self, tracer: &FullBackend, reason: &str) -> Context {
        let mut notes = Vec::new();
        if !self.exit.success() {
            notes.push(format!("The program ended with {}.", self.exit));
        }
        notes.push(format!("Observed by {} ({reason}).", tracer.backend().name()));
        if !tracer.sees_faults() {
            notes.push(
                "Page faults are not seen here: their time is in that of user code and calls.".to_owned(),
            );
        }
        if let Some((ratio, traced, untraced)) = self.overhead() {
            notes.push(format!(
                "Observer overhead: {:.3} times as long as untraced, launch to reaping ({} against {}, medians of {} \
                 runs each, in turn).",
                ratio,
                display_nanos(traced),
                display_nanos(untraced),
                self.observed.untraced.len()
            ));
        }
        for reason in &self.observed.rejected {
            notes.push(format!("A run did not count: {reason}."));
        }
        Context { notes, ..Context::default() }
    }

    /// Median wall of traced runs over that of untraced ones, and both.
    pub(super) fn overhead(&self) -> Option<(f64, f64, f64)> {
        let median = |values: &[f64]| stats::median(&stats::quantile::sorted(values)?);
        let (traced, untraced) = (median(&self.observed.traced)?, median(&self.observed.untraced)?);
        (untraced > 0.0).then(|| (traced / untraced, traced, untraced))
    }
}
