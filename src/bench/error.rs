//! Why an experiment cannot begin or continue.

use firstbyte_measure::launch::wait::Killed;
use firstbyte_measure::launch::{LaunchError, ResolveError};
use firstbyte_measure::units::Nanos;
use std::fmt::Display;

#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The tracer or the machine failed: the tracer could not be attached or detached, a process may not be killed, or
    /// nothing more can be run.
    #[error("{0}")]
    Machine(String),
    /// A program does not exist or may not be executed.
    #[error(transparent)]
    Command(#[from] ResolveError),
    /// A run failed in an experiment that does not repeat runs.
    #[error(transparent)]
    Run(#[from] LaunchError),
    /// A run ended too early in an experiment that does not repeat runs.
    #[error(
        "`{command}` ended before it {awaited}{}\nhelp: run it by hand to see what it prints",
        after(last)
    )]
    NotReached { command: String, awaited: String, last: Vec<String> },
    /// A run had to be killed in an experiment that does not repeat runs. All other runs would take as long.
    #[error("`{command}` was given up after {after}: {killed}\nhelp: {}", help(*killed))]
    Killed { command: String, after: Nanos, killed: Killed },
}

impl ExperimentError {
    pub fn machine(cause: impl Display) -> ExperimentError {
        ExperimentError::Machine(cause.to_string())
    }
}

/// The last lines of its stderr.
fn after(last: &[String]) -> String {
    if last.is_empty() { String::new() } else { format!("; its stderr ends with:\n  {}", last.join("\n  ")) }
}

fn help(killed: Killed) -> &'static str {
    match killed {
        Killed::Stopped(_) => "let it run without stopping, or continue it from another process",
        _ => "give it more time with --timeout",
    }
}

/// The message of such a run without its stderr.
pub(super) fn not_reached(awaited: &str) -> String {
    one_line(&LaunchError::NotReached { awaited: awaited.to_owned(), last: Vec::new() }.to_string())
}

/// An error's message without its `help:` line, which does not fit into a table.
pub(super) fn one_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
