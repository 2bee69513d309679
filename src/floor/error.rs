//! Why something could not be measured.

use std::io;

/// Why a figure, or all of them, could not be had.
#[derive(Debug, thiserror::Error)]
pub enum FloorError {
    /// The kernel refused something that measuring needs.
    #[error("{what} cannot be had: {cause}\nhelp: check the limits (ulimit -a) and the free memory")]
    Resource {
        /// What was asked for.
        what: &'static str,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The processor asked for is not one that we may run on.
    #[error(
        "processor `{cpu}` is not one that this process may run on\nhelp: choose one of those that `taskset -p $$` shows"
    )]
    Processor {
        /// Its number.
        cpu: usize,
    },
    /// The user interrupted us.
    #[error("interrupted")]
    Interrupted,
}

impl FloorError {
    /// The last system call's failure.
    pub(super) fn last(what: &'static str) -> FloorError {
        FloorError::Resource { what, cause: io::Error::last_os_error() }
    }

    /// In one line, for a row that says why it is missing.
    pub fn line(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }
}
