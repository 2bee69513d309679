//! Why a figure could not be measured.

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
    #[error("interrupted")]
    Interrupted,
}

impl FloorError {
    /// From the `errno` of the last system call.
    pub(super) fn last(what: &'static str) -> FloorError {
        FloorError::Resource { what, cause: io::Error::last_os_error() }
    }

    /// The message without its help line, for the reason of a missing figure.
    pub fn line(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }
}
