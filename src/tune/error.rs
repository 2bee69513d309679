//! Why a command cannot be tuned.

use crate::bench::ExperimentError;
use firstbyte_measure::launch::{LaunchError, interrupt};

#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The request is invalid.
    #[error("{0}")]
    Request(String),
    /// The plain command fails, or what prepares its runs.
    #[error("{0}")]
    Command(String),
    /// The command is not to be run often, or there is no place for what its ways write.
    #[error("{0}")]
    Unfit(String),
    #[error(
        "the experiment was interrupted before it proved anything\nhelp: run it again; --budget 10s makes it short"
    )]
    Interrupted,
    #[error(transparent)]
    Runs(#[from] ExperimentError),
}

impl TuneError {
    /// The user interrupted it.
    pub fn is_interruption(&self) -> bool {
        matches!(
            self,
            TuneError::Interrupted | TuneError::Runs(ExperimentError::Run(LaunchError::Interrupted))
        ) || interrupt::interrupted().is_some()
    }

    /// The message without its help.
    pub(super) fn cause(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_says_what_helps() {
        let message = TuneError::Interrupted.to_string();
        assert_eq!(message.lines().filter(|line| line.starts_with("help: ")).count(), 1, "{message}");
        assert_eq!(
            TuneError::Interrupted.cause(),
            "the experiment was interrupted before it proved anything"
        );
    }
}
