//! Programs in two files, and what changed between the files: the document of `firstbyte compare`.

use super::Kind;
use super::bench::{Cache, Ratio};
use crate::stats::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;

/// The comparison of two files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareDocument {
    /// [`Kind::Compare`].
    pub kind: Kind,
    pub old: PathBuf,
    pub new: PathBuf,
    /// One entry for each program that is in both, in the order of the new file.
    pub programs: Vec<ComparedProgram>,
    /// Programs that only the old file has.
    pub only_old: Vec<String>,
    /// Programs that only the new file has.
    pub only_new: Vec<String>,
    /// Differences between the machines and between the ways of measuring.
    pub differing: Vec<ComparedFact>,
    /// Caveats, one lower-case line each.
    pub notes: Vec<String>,
}

/// A fact in which two documents differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedFact {
    /// Its name in the document.
    pub name: String,
    pub old: Value,
    pub new: Value,
}

/// One program, before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedProgram {
    pub name: String,
    pub cache: Option<Cache>,
    /// Each duration that both files have.
    pub times: Vec<TimeChange>,
    /// Each count that both files have.
    pub counts: Vec<CountChange>,
    /// What limits its figures, one lower-case line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// Runs of it failed, in one of the files or in both.
    #[serde(default)]
    pub failed: bool,
}

/// One duration, before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeChange {
    /// `first_byte`, `total`, or `wall` if a file has no phases.
    pub of: String,
    /// The old median in nanoseconds.
    pub old: f64,
    /// The new median in nanoseconds.
    pub new: f64,
    /// New over old, with a 99 % interval. It covers drift during each measurement, not between the two.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// About the new one.
    pub verdict: Verdict,
}

/// One count, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountChange {
    /// Its name in the document.
    pub name: String,
    pub old: u64,
    pub new: u64,
    /// The ranges of the counting runs overlap, so the difference may be chance.
    pub varies: bool,
}

impl CompareDocument {
    /// The programs without a duration that both files have. They may be slower without anybody knowing.
    pub fn untimed(&self) -> Vec<&str> {
        self.programs.iter().filter(|program| program.times.is_empty()).map(|p| p.name.as_str()).collect()
    }

    /// The programs whose runs failed, so that their times are not those of their work.
    pub fn failed(&self) -> Vec<&str> {
        self.programs.iter().filter(|program| program.failed).map(|p| p.name.as_str()).collect()
    }

    /// The programs with a duration that has grown by more than this part, with the whole interval.
    pub fn slower_than(&self, limit: f64) -> Vec<&str> {
        let too_slow =
            |program: &&ComparedProgram| program.times.iter().any(|time| time.is_slower_than(limit));
        self.programs.iter().filter(too_slow).map(|program| program.name.as_str()).collect()
    }
}

impl TimeChange {
    /// It has grown by more than this part, with the whole interval.
    pub fn is_slower_than(&self, limit: f64) -> bool {
        self.verdict == Verdict::Slower && self.ratio.low > 1.0 + limit
    }
}

impl ComparedFact {
    /// As a change from the old to the new.
    pub fn change(&self) -> String {
        let [old, new] = [&self.old, &self.new]
            .map(|value| if value.is_null() { "unset".to_owned() } else { plain(value) });
        format!("{} was {old} and is {new}", self.name)
    }
}

impl fmt::Display for ComparedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} and {}", self.name, plain(&self.old), plain(&self.new))
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => other.to_string(),
    }
}
