//! Why a figure could not be measured.

use crate::bench::ExperimentError;
use firstbyte_measure::launch::{LaunchError, ResolveError};
use std::fmt::Display;
use std::io;

/// Why one figure, or all of them, could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum FloorError {
    /// The kernel refused a resource that measuring needs.
    #[error("cannot get {what}: {cause}\nhelp: check the limits (ulimit -a) and the free memory")]
    Resource { what: &'static str, cause: io::Error },
    /// This process may not run on the requested processor.
    #[error(
        "this process may not run on processor `{cpu}`\nhelp: choose one of the processors that `taskset -p $$` shows"
    )]
    Processor { cpu: usize },
    /// This machine cannot do it.
    #[error("{0}")]
    Unable(String),
    /// The user's command, or a program of the corpus, failed.
    #[error("{0}")]
    Program(String),
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error("interrupted")]
    Interrupted,
}

impl From<LaunchError> for FloorError {
    fn from(error: LaunchError) -> FloorError {
        FloorError::Experiment(error.into())
    }
}

impl From<ResolveError> for FloorError {
    fn from(error: ResolveError) -> FloorError {
        FloorError::Experiment(error.into())
    }
}

impl FloorError {
    /// From the `errno` of the last system call.
    pub(super) fn last(what: &'static str) -> FloorError {
        FloorError::Resource { what, cause: io::Error::last_os_error() }
    }

    pub(super) fn unable(cause: impl Display) -> FloorError {
        FloorError::Unable(cause.to_string())
    }

    /// The message without its help line, for the reason of a missing figure.
    pub fn line(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }
}
