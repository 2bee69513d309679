//! All programs with their budgets: the document of `firstbyte check`.

use super::budget_file::ProgramBudget;
use super::judge::{BudgetOutcome, Judged, judge};
use crate::document::bench::{Tool, Warning};
use crate::document::{Document, Kind};
use serde::Serialize;
use serde_json::Value;

/// Every program with its budgets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// The version of the format: the document's.
    pub schema: String,
    /// [`Kind::Check`].
    pub kind: Kind,
    /// What measured.
    pub tool: Tool,
    /// Where.
    pub machine: Value,
    /// One entry a program.
    pub results: Vec<CheckedProgram>,
    /// What was wrong with the machine, or the plan, meanwhile.
    pub warnings: Vec<Warning>,
}

/// One program with its budgets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedProgram {
    pub name: String,
    /// Its budgets; empty if it failed.
    pub budgets: Vec<Judged>,
    /// Why it could not be measured.
    pub failed: Option<String>,
    /// Why it could be measured, and not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<String>,
}

impl Checked {
    /// Every program, set against what was measured.
    pub fn of(programs: &[ProgramBudget], document: &Document) -> Checked {
        let check = |program: &ProgramBudget| {
            let measured = document.results.iter().find(|m| m.label() == program.label());
            let failed = document.failed.iter().find(|failed| failed.name == program.label());
            CheckedProgram {
                name: program.label().to_owned(),
                budgets: measured.map(|measurement| judge(program, measurement)).unwrap_or_default(),
                failed: failed.map(|failed| failed.reason.clone()),
                uncounted: measured.and_then(|measurement| measurement.uncounted.clone()),
            }
        };

        Checked {
            schema: document.schema.clone(),
            kind: Kind::Check,
            tool: document.tool.clone(),
            machine: document.machine.clone(),
            results: programs.iter().map(check).collect(),
            warnings: document.warnings.clone(),
        }
    }

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
