//! The head of every document: the version of the format, and what wrote it.

use crate::stats::Comparison;
use serde::{Deserialize, Serialize};

/// The version of the format. A reader takes any document with this number: fields may be added to it, never
/// changed or removed.
pub const SCHEMA: &str = "firstbyte/1";

/// What measured, and what its measuring costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `firstbyte`, or the tool whose file was read.
    pub name: String,
    /// Empty if unknown.
    #[serde(default)]
    pub version: String,
    /// What observed the runs: `bpf`, `ptrace`, `pipe`.
    #[serde(default)]
    pub backend: Option<String>,
    /// Why this backend.
    #[serde(default)]
    pub backend_reason: Option<String>,
    /// Traced over untraced runs, one entry for each program.
    #[serde(default)]
    pub observer_overhead: Vec<Overhead>,
}

impl Tool {
    /// This firstbyte, without a backend.
    pub fn ours() -> Tool {
        ToolVersion::ours().into()
    }
}

/// What wrote a document, where no backend is involved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolVersion {
    pub name: String,
    #[serde(default)]
    pub version: String,
}

impl ToolVersion {
    /// This firstbyte.
    pub fn ours() -> ToolVersion {
        ToolVersion { name: "firstbyte".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

impl From<ToolVersion> for Tool {
    fn from(ToolVersion { name, version }: ToolVersion) -> Tool {
        Tool { name, version, ..Tool::default() }
    }
}

/// Wall time of traced runs over that of untraced runs of the same program, in alternating blocks. A pair is the two
/// medians of a block: where the speed of a machine changes by the second, only blocks are independent of each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// The program.
    pub name: String,
    #[serde(flatten)]
    pub ratio: Ratio,
}

/// A ratio of paired runs with a confidence interval: 95 % for the observer overhead, 99 % for verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The median of the ratios of the pairs.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The number of pairs.
    pub pairs: usize,
}

/// With fewer blocks than this a ratio says nothing: one disturbed block makes it any number.
pub const MIN_BLOCKS: usize = 4;

impl Overhead {
    /// There are enough blocks for a figure.
    pub fn is_known(&self) -> bool {
        self.ratio.pairs >= MIN_BLOCKS
    }
}

impl From<Comparison> for Ratio {
    fn from(comparison: Comparison) -> Ratio {
        let Comparison { ratio, interval, pairs } = comparison;
        Ratio { ratio, low: interval.low, high: interval.high, pairs }
    }
}
