//! Sets all programs of a budget file against what was measured.

use super::budget_file::ProgramBudget;
use super::judge::judge;
use crate::document::bench::Measurement;
use crate::document::check::{CheckDocument, CheckedProgram};
use crate::document::compare::ComparedFact;
use crate::document::{Document, Kind};

/// Every program, set against what was measured. `differing`: what is not as it was when the budgets were written.
pub fn check(programs: &[ProgramBudget], document: &Document, differing: Vec<ComparedFact>) -> CheckDocument {
    let checked = |program: &ProgramBudget| {
        let measured = document.results.iter().find(|m| m.label() == program.label());
        let failed = document.failed.iter().find(|failed| failed.name == program.label());
        CheckedProgram {
            name: program.label().to_owned(),
            budgets: measured.map(|measurement| judge(program, measurement)).unwrap_or_default(),
            failed: failed.map(|failed| failed.reason.clone()),
            limits: measured.map(Measurement::limits_to_comparison).unwrap_or_default(),
            came: Vec::new(),
            came_help: None,
        }
    };

    CheckDocument {
        schema: document.schema.clone(),
        kind: Kind::Check,
        tool: document.tool.clone(),
        machine: document.machine.clone(),
        differing,
        results: programs.iter().map(checked).collect(),
        partial: document.partial,
        warnings: document.warnings.clone(),
    }
}
