//! Other ways to start a program, and which are proven to be faster: what `firstbyte tune` writes.

use super::Kind;
use super::bench::{Metric, Ratio, Tool, Warning};
use crate::stats::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One invocation's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneDocument {
    /// [`super::bench::SCHEMA`].
    pub schema: String,
    /// [`Kind::Tune`].
    #[serde(default = "TuneDocument::kind")]
    pub kind: Kind,
    pub tool: Tool,
    #[serde(default)]
    pub machine: Value,
    /// It was interrupted: what is proven until then.
    #[serde(default)]
    pub partial: bool,
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The command, as a shell would take it.
    pub command: String,
    /// The time by which the ways are compared.
    pub by: Metric,
    /// It writes nothing to stdout, and so it is compared by its total.
    #[serde(default)]
    pub silent: bool,
    /// The page cache was cold before each run.
    #[serde(default)]
    pub cold: bool,
    /// The median of the plain command, in nanoseconds.
    #[serde(default)]
    pub plain_ns: Option<f64>,
    /// The median of its total, if the ways are compared by another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_total_ns: Option<f64>,
    /// How often the command was executed, in whatever way.
    pub executions: u64,
    /// How long all of it took.
    pub seconds: f64,
    /// The ways that were tried: those that are proven to be faster come first, and of these those that do not change what the
    /// program does; else the fastest first.
    pub results: Vec<TunedVariant>,
    /// Several of them together, if that is proven to be faster than any one.
    #[serde(default)]
    pub together: Option<TunedTogether>,
    pub untried: Vec<UntriedVariant>,
}

impl TuneDocument {
    fn kind() -> Kind {
        Kind::Tune
    }

    /// The ways that are proven to be faster.
    pub fn proven(&self) -> impl Iterator<Item = &TunedVariant> {
        self.results.iter().filter(|tuned| tuned.helps())
    }

    /// The others that were tried.
    pub fn of_no_help(&self) -> impl Iterator<Item = &TunedVariant> {
        self.results.iter().filter(|tuned| !tuned.helps())
    }
}

/// A way that takes more of the plain command's time is no help, however certain its gain is.
const LEAST_GAIN: f64 = 0.99;

/// A variant that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedVariant {
    pub name: String,
    /// The runtime whose variant it is.
    pub runtime: String,
    /// What is different, a clause.
    pub text: String,
    /// The whole command, as a shell would take it. `DIR` stands for a folder that is not kept.
    pub command: String,
    /// What the ratio is to; absent: the plain command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Of paired runs, with a 99 % interval.
    #[serde(default)]
    pub ratio: Option<Ratio>,
    /// Its median, in nanoseconds.
    #[serde(default)]
    pub median_ns: Option<f64>,
    /// The median of its total, if it is compared by another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ns: Option<f64>,
    /// At 99 %, corrected for the number of variants that are judged together.
    pub verdict: Verdict,
    /// The ratio and the verdict are of runs that were made after the variant was chosen.
    pub confirmed: bool,
    /// It changes what the program does.
    #[serde(default)]
    pub behaviour: bool,
    /// What it writes to its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<String>,
    /// How its effect is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// The rule of the finding that suggests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// What that finding says would be saved, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised_ns: Option<u64>,
}

impl TunedVariant {
    /// It is proven to be faster, and by more than nothing.
    pub fn helps(&self) -> bool {
        self.verdict == Verdict::Faster && self.ratio.is_some_and(|ratio| ratio.ratio <= LEAST_GAIN)
    }
}

/// Several variants together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedTogether {
    pub names: Vec<String>,
    pub command: String,
    /// To the plain command.
    pub ratio: Ratio,
    pub median_ns: f64,
    /// The median of its total, if it is compared by another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ns: Option<f64>,
}

/// A variant that belongs to the program and was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntriedVariant {
    pub name: String,
    /// A clause.
    pub reason: String,
}
