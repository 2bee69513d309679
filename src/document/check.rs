//! Programs and their budgets: the document of `firstbyte check`.

use super::Kind;
use super::bench::{Tool, Warning};
use super::compare::ComparedFact;
use super::diff::DiffChange;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Every program with its budgets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckDocument {
    /// The version of the format: the document's.
    pub schema: String,
    /// [`Kind::Check`].
    pub kind: Kind,
    /// What measured.
    pub tool: Tool,
    /// Where.
    pub machine: Value,
    /// Variables and executables that are not as they were when the budgets were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<ComparedFact>,
    /// One entry a program.
    pub results: Vec<CheckedProgram>,
    /// The measuring was interrupted.
    #[serde(default)]
    pub partial: bool,
    /// What was wrong with the machine, or the plan, meanwhile.
    pub warnings: Vec<Warning>,
}

/// One program with its budgets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedProgram {
    pub name: String,
    /// Its budgets; empty if it failed.
    pub budgets: Vec<JudgedBudget>,
    /// Why it could not be measured.
    pub failed: Option<String>,
    /// What limits its figures, one lower-case line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// Where a count is missed: what the program does now and did not do when the budgets were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub came: Vec<DiffChange>,
    /// The command that shows more of it, or why it is not known: one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_help: Option<String>,
}

impl CheckedProgram {
    /// Whether a count is missed that [`CheckedProgram::came`] explains.
    pub fn misses_counts(&self) -> bool {
        let is_explained = |budget: &JudgedBudget| {
            budget.unit != BudgetUnit::Nanoseconds && !matches!(&*budget.what, "rss" | "instructions")
        };
        self.budgets.iter().any(|budget| budget.outcome == BudgetOutcome::Missed && is_explained(budget))
    }
}

/// Whether a budget was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetOutcome {
    Met,
    /// The median exceeds the budget, but the lower end of its range (or the median, without a range) is within the tolerance.
    Tolerated,
    Missed,
    /// The figure was not measured here.
    Unknown,
}

/// How the names of budgets for marks begin; that of the mark follows.
pub const MARKS: &str = "marks.";

/// One budget and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedBudget {
    /// The budget's name in the file.
    pub what: String,
    pub unit: BudgetUnit,
    pub budget: u64,
    /// The median.
    pub measured: Option<f64>,
    /// For a time, its 95 % interval; for a count that varies, the smallest and the largest value.
    pub range: Option<[f64; 2]>,
    pub outcome: BudgetOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetUnit {
    Nanoseconds,
    Bytes,
    Count,
}

impl CheckDocument {
    /// How many budgets were missed.
    pub fn missed(&self) -> usize {
        self.count(BudgetOutcome::Missed)
    }

    /// How many could not be measured here.
    pub fn unknown(&self) -> usize {
        self.count(BudgetOutcome::Unknown)
    }

    fn count(&self, outcome: BudgetOutcome) -> usize {
        self.results.iter().flat_map(|p| &p.budgets).filter(|judged| judged.outcome == outcome).count()
    }
}
