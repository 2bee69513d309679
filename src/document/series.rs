//! How the runs of a series came about.

use serde::{Deserialize, Serialize};

/// Why no further runs were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The requested number of runs was made.
    AsPlanned,
    /// Every median is known precisely enough.
    Precise,
    /// The time was up first.
    TimeSpent,
    /// The highest number of runs was reached first.
    MostRuns,
}

/// A run that must not be counted, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// Which run of the series, from 0.
    pub run: u32,
    /// One lower-case line.
    pub reason: String,
    /// The last lines of its stderr, if the program failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}
