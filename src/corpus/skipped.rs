//! A program that cannot be measured on this machine, and what would change that.

use serde::Serialize;

/// Why a program is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The program's name.
    pub name: String,
    /// What kind of obstacle it is.
    pub cause: SkipCause,
    /// One lower-case line.
    pub reason: String,
    /// The exact command that brings what is missing.
    pub install: Option<String>,
}

/// What kind of obstacle keeps a program from being measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipCause {
    /// A tool of its toolchain is not there.
    ToolMissing,
    /// It does not exist for this machine: another architecture, or a requirement that does not hold.
    Unfit,
    /// A step of its build failed; `reason` says which, and names the log.
    BuildFailed,
    /// It was built, but printed the wrong bytes, ended in the wrong way or not at all.
    Wrong,
    /// The build was interrupted.
    Interrupted,
}

impl Skipped {
    /// An obstacle that no package removes.
    pub(crate) fn new(name: &str, cause: SkipCause, reason: impl Into<String>) -> Skipped {
        Skipped { name: name.to_owned(), cause, reason: reason.into(), install: None }
    }
}
