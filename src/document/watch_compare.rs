//! Two watches and what changed between them: the document of `firstbyte compare` for files of `firstbyte watch`.

use super::Kind;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchComparison {
    /// [`Kind::Compare`].
    pub kind: Kind,
    pub old: PathBuf,
    pub new: PathBuf,
    /// Sums over all programs.
    pub totals: Vec<WatchChange>,
    /// Programs with other counts, those with the largest change of execs first.
    pub programs: Vec<WatchProgramChange>,
    /// How many programs have the same counts in both.
    pub unchanged: usize,
    /// Caveats, one lower-case line each.
    pub notes: Vec<String>,
}

/// One figure, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchChange {
    /// Its name in the document. Those that end in `_ns` are times.
    pub name: String,
    pub old: u64,
    pub new: u64,
}

impl WatchChange {
    pub fn is_time(&self) -> bool {
        self.name.ends_with("_ns")
    }
}

/// One program, before and after. A program that is not in one of the files has zeros there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchProgramChange {
    pub path: String,
    /// `execs`, `failed`, `forks`; `startup_ns`, `lifetime_ns` and `cpu_ns` are sums.
    pub changes: Vec<WatchChange>,
}

impl WatchProgramChange {
    /// Whether a count has changed. Times always do.
    pub fn has_other_counts(&self) -> bool {
        self.changes.iter().any(|change| !change.is_time() && change.old != change.new)
    }
}
