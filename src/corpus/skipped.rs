//! Programs that cannot be measured on this machine, and what would change that.

use crate::document::bench as document;
use serde::Serialize;

/// Why a program is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedProgram {
    pub name: String,
    pub cause: SkipCause,
    /// One lower-case line.
    pub reason: String,
    /// The exact command that installs what is missing.
    pub install: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipCause {
    ToolMissing,
    /// This machine cannot run it: another architecture, or a requirement that is not met.
    Unfit,
    /// A build step failed. `reason` names the step and the log.
    BuildFailed,
    /// It was built, but its output or exit status was wrong, or it did not end.
    Wrong,
    Interrupted,
}

impl From<&SkippedProgram> for document::Skipped {
    fn from(skipped: &SkippedProgram) -> document::Skipped {
        let SkippedProgram { name, reason, install, .. } = skipped.clone();
        document::Skipped { name, reason, install }
    }
}

impl SkippedProgram {
    /// An obstacle that no package removes.
    pub(crate) fn new(name: &str, cause: SkipCause, reason: impl Into<String>) -> SkippedProgram {
        SkippedProgram { name: name.to_owned(), cause, reason: reason.into(), install: None }
    }
}
