//! Two start-ups and what differs between them: what `firstbyte diff --export-json` writes.

use super::Kind;
use super::trace::TracePhases;
use crate::document::bench::{Ratio, ToolVersion};
use crate::stats::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One invocation's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffDocument {
    /// [`super::bench::SCHEMA`].
    pub schema: String,
    /// [`Kind::Diff`].
    #[serde(default = "DiffDocument::kind")]
    pub kind: Kind,
    pub tool: ToolVersion,
    #[serde(default)]
    pub machine: Value,
    /// Both sides.
    pub results: [DiffSide; 2],
    pub difference: DiffChanges,
}

impl DiffDocument {
    fn kind() -> Kind {
        Kind::Diff
    }
}

/// One start-up: hyperfine's fields in seconds, ours in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffSide {
    /// The command or the recording.
    pub command: String,
    pub median: f64,
    /// The mean of the middle half of the runs by their total; `None` in older documents.
    #[serde(default)]
    pub mean: Option<f64>,
    pub min: f64,
    pub max: f64,
    pub runs: usize,
    pub phases: TracePhases,
    /// By name; `null` where the backend does not see them.
    pub counts: BTreeMap<String, Option<u64>>,
    pub lost_events: u64,
    /// Caveats about the figures, a sentence each.
    pub notes: Vec<String>,
}

/// What differs. Every list has the greatest difference first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffChanges {
    /// The second side's mean total of the middle half of its runs less the first's. The kinds add up to it.
    pub total_ns: f64,
    /// The second side's mean total over the first's.
    pub ratio: f64,
    /// `null` where there are too few runs.
    pub comparison: Option<Ratio>,
    pub verdict: Option<Verdict>,
    /// Their runs were interleaved.
    pub in_turn: bool,
    /// In the order of the kinds.
    pub kinds: Vec<DiffKind>,
    /// These add up to the total, too.
    pub attribution: Vec<DiffChange>,
    /// Steps of the main thread that one side has and the other does not.
    pub steps: Vec<DiffChange>,
    pub files: Vec<DiffChange>,
    /// Loads that language runtimes report, with their own times; none in older documents.
    #[serde(default)]
    pub loads: Vec<DiffChange>,
    /// The programs of all processes, each from its exec until its process ends or executes something else.
    pub programs: Vec<DiffChange>,
    /// The parts of the runs that have a name: between the program's marks; none in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<DiffChange>,
    /// What `trace` says of the two sides; none in older documents.
    #[serde(default)]
    pub findings: Vec<DiffFinding>,
}

/// A finding of either side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffFinding {
    /// As in [`super::trace::TraceFinding`].
    pub rule: String,
    /// The cause and what to do, of the side that spends more on it.
    pub text: String,
    /// What it costs; `null`: the first side does not have it, or it costs too little for a finding.
    pub before_ns: Option<f64>,
    /// `null`: the second side does not have it, or it costs too little for a finding.
    pub after_ns: Option<f64>,
    /// The rule finds something else on each side; in older documents, a cost that is `null` may not be known.
    #[serde(default)]
    pub unknown: bool,
    /// The second side's cost less the first's.
    pub ns: f64,
    /// The 95 % interval of that; `null`: it is not known.
    #[serde(default)]
    pub interval_ns: Option<[f64; 2]>,
}

/// One kind of the main thread's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffKind {
    /// As in [`super::trace::TraceShare`].
    pub kind: String,
    pub before: DiffAmount,
    pub after: DiffAmount,
}

/// Something on either side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffChange {
    /// Of the attribution, and of what `check` lists: `program`, `load`, `file`, `step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub name: String,
    /// `null`: the first side does not have it.
    pub before: Option<DiffAmount>,
    /// `null`: the second side does not have it.
    pub after: Option<DiffAmount>,
    /// The second side's time less the first's.
    pub ns: f64,
    /// The runs of each side vary by more than that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncertain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffAmount {
    pub ns: f64,
    pub count: f64,
}
