//! The results of `firstbyte claims`.

use super::Kind;
use super::read::{self, ReadError};
use crate::document::bench::{SCHEMA, Tool};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The verdicts of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimsDocument {
    pub schema: String,
    /// [`Kind::Claims`].
    #[serde(default = "ClaimsDocument::kind")]
    pub kind: Kind,
    pub tool: Tool,
    pub machine: Value,
    /// The invocation was interrupted: not everything was measured.
    #[serde(default)]
    pub partial: bool,
    /// `--quick`: fewer runs than usual, and fewer lines.
    #[serde(default)]
    pub quick: bool,
    /// One entry for each claim.
    pub results: Vec<ClaimRow>,
}

/// One claim, its verdict, and the values behind the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// Begins with the number of the post.
    pub id: String,
    /// The number of the post.
    pub seed: String,
    /// The title of the post.
    pub post: String,
    /// What the post says.
    pub claim: String,
    /// The post's figures; may be empty.
    pub figure: String,
    /// What was measured here, in words.
    pub measured: String,
    /// The same as numbers.
    pub values: Vec<ClaimValue>,
    /// How it was measured.
    pub how: String,
    /// When the claim holds.
    pub rule: String,
    pub verdict: ClaimVerdict,
    /// One line of explanation.
    pub why: String,
    /// The command that would make the claim testable, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
}

/// Whether a claim holds on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimVerdict {
    /// Every check is met, with the whole interval of its value.
    #[serde(rename = "holds")]
    Holds,
    /// At least one check is missed, with the whole interval of its value.
    #[serde(rename = "does not hold here")]
    DoesNotHold,
    /// A value is not known, or too uncertain to tell.
    #[serde(rename = "cannot be tested here")]
    CannotBeTested,
}

impl ClaimVerdict {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::DoesNotHold => "does not hold here",
            ClaimVerdict::CannotBeTested => "cannot be tested here",
        }
    }
}

/// A value behind a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimValue {
    pub name: String,
    pub unit: ClaimUnit,
    /// The median; `null` if it is not known here.
    pub value: Option<f64>,
    /// The lower end of its 99 % interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The claim holds only if the value is not below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The claim holds only if the value is not above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Whether the value is within the limits: surely (`true`), surely not (`false`), or uncertain (`null`).
    pub met: Option<bool>,
    /// The words show the value only if it is not within the limits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimUnit {
    Ns,
    /// A ratio.
    Times,
    /// A part of a whole, from 0 to 1.
    Part,
    /// A number of things.
    Count,
    Bytes,
    /// 1 for yes, 0 for no.
    Yes,
}

impl ClaimsDocument {
    fn kind() -> Kind {
        Kind::Claims
    }

    /// A document without results.
    pub fn new(tool: Tool, machine: Value, quick: bool) -> ClaimsDocument {
        ClaimsDocument {
            schema: SCHEMA.to_owned(),
            kind: Kind::Claims,
            tool,
            machine,
            partial: false,
            quick,
            results: Vec::new(),
        }
    }

    pub fn read(path: &Path) -> Result<ClaimsDocument, ReadError> {
        read::of_kind(Kind::Claims, &read::text(path)?, path)
    }

    /// Adds the results of `other`, which replace those on the same claims, and sorts all by `order`, a list of ids.
    pub fn merge(&mut self, other: ClaimsDocument, order: &[&str]) {
        self.partial |= other.partial;
        self.quick |= other.quick;

        self.results.retain(|row| !other.results.iter().any(|new| new.id == row.id));
        self.results.extend(other.results);

        let index = |row: &ClaimRow| order.iter().position(|id| *id == row.id).unwrap_or(order.len());
        self.results.sort_by_key(index);
    }

    pub fn of_post(&self, number: &str) -> Vec<&ClaimRow> {
        self.results.iter().filter(|row| row.seed == number).collect()
    }

    pub fn count(&self, verdict: ClaimVerdict) -> usize {
        self.results.iter().filter(|row| row.verdict == verdict).count()
    }
}
