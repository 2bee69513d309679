//! How a command ends: the exit statuses of the manual page, and errors that carry theirs.

use crate::bench::ExperimentError;
use crate::document::Document;
use crate::tracing::TraceError;
use crate::tune::TuneError;
use firstbyte_measure::launch::{LaunchError, interrupt};
use firstbyte_measure::tracer::ChooseError;
use std::fmt::Display;

/// The exit status of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: a gate or a budget was missed.
    Missed,
    /// 2: the command line or a file that it names is invalid.
    Usage,
    /// 3: a measured program failed or printed the wrong thing.
    ProgramFailed,
    /// 4: this machine cannot do what was asked.
    Unable,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// The exit status for measured programs.
    pub(super) fn of(document: &Document) -> Exit {
        match document {
            Document { broken: Some(_), .. } => Exit::Unable,
            Document { partial: true, .. } => Exit::Interrupted,
            Document { failed, .. } if !failed.is_empty() => Exit::ProgramFailed,
            _ => Exit::Done,
        }
    }

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Missed => 1,
            Exit::Usage => 2,
            Exit::ProgramFailed => 3,
            Exit::Unable => 4,
            Exit::Interrupted => 130,
        }
    }
}

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    /// How the process ends.
    pub exit: Exit,
    message: String,
}

impl CommandError {
    /// The request is invalid.
    pub fn usage(message: impl Display) -> CommandError {
        CommandError { exit: Exit::Usage, message: message.to_string() }
    }

    /// A measured program failed.
    pub fn program(message: impl Display) -> CommandError {
        CommandError { exit: Exit::ProgramFailed, message: message.to_string() }
    }

    /// The user interrupted it.
    pub fn interrupted(message: impl Display) -> CommandError {
        CommandError { exit: Exit::Interrupted, message: message.to_string() }
    }

    /// This machine cannot do it.
    pub fn unable(message: impl Display) -> CommandError {
        CommandError { exit: Exit::Unable, message: message.to_string() }
    }
}

impl From<ExperimentError> for CommandError {
    fn from(error: ExperimentError) -> CommandError {
        match error {
            // also if a program could not be killed: the message says so
            ExperimentError::Machine(_) if interrupt::interrupted().is_some() => {
                CommandError::interrupted(error)
            }
            ExperimentError::Machine(_) => CommandError::unable(error),
            ExperimentError::Run(error) => error.into(),
            ExperimentError::Command(_)
            | ExperimentError::Killed { .. }
            | ExperimentError::NotReached { .. } => CommandError::program(error),
        }
    }
}

impl From<TraceError> for CommandError {
    fn from(error: TraceError) -> CommandError {
        match error {
            TraceError::Tracer(error @ ChooseError::NoCalls) => CommandError::usage(error),
            TraceError::Tracer(error) => CommandError::unable(error),
            TraceError::Runs(error) => error.into(),
            TraceError::NothingCounts(message) => CommandError::program(message),
        }
    }
}

impl From<TuneError> for CommandError {
    fn from(error: TuneError) -> CommandError {
        match error {
            TuneError::Request(_) => CommandError::usage(error),
            TuneError::Command(_) => CommandError::program(error),
            TuneError::Unfit(_) => CommandError::unable(error),
            TuneError::Interrupted => CommandError::interrupted(error),
            TuneError::Runs(error) => error.into(),
        }
    }
}

impl From<LaunchError> for CommandError {
    fn from(error: LaunchError) -> CommandError {
        let exit = match error {
            LaunchError::Interrupted => Exit::Interrupted,
            _ if interrupt::interrupted().is_some() => Exit::Interrupted,
            LaunchError::NotCold(_) => Exit::Unable,
            _ if error.is_machine_failure() => Exit::Unable,
            _ => Exit::ProgramFailed,
        };
        CommandError { exit, message: error.to_string() }
    }
}
