//! Why a trace cannot begin or continue.

use crate::bench::ExperimentError;
use firstbyte_measure::launch::{LaunchError, interrupt};
use firstbyte_measure::tracer::ChooseError;

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// No tracer works, or the kernel refuses to attach it.
    #[error(transparent)]
    Tracer(#[from] ChooseError),
    /// Runs could not be made.
    #[error(transparent)]
    Runs(#[from] ExperimentError),
    /// No run counts. This is the message for the user.
    #[error("{0}")]
    NothingCounts(String),
}

impl TraceError {
    /// The user interrupted it.
    pub fn is_interruption(&self) -> bool {
        matches!(self, TraceError::Runs(ExperimentError::Run(LaunchError::Interrupted)))
            || interrupt::interrupted().is_some()
    }
}
