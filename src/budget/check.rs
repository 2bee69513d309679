//! Sets all programs of a budget file against what was measured.

use super::budget_file::ProgramBudget;
use super::judge::judge;
use crate::document::bench::Measurement;
use crate::document::check::{CheckDocument, CheckedProgram};
use crate::document::{Document, Kind};

/// Every program, set against what was measured.
pub fn check(programs: &[ProgramBudget], document: &Document) -> CheckDocument {
    let checked = |program: &ProgramBudget| {
        let measured = document.results.iter().find(|m| m.label() == program.label());
        let failed = document.failed.iter().find(|failed| failed.name == program.label());
        CheckedProgram {
            name: program.label().to_owned(),
            budgets: measured.map(|measurement| judge(program, measurement)).unwrap_or_default(),
            failed: failed.map(|failed| failed.reason.clone()),
            limits: measured.map(Measurement::limits_to_comparison).unwrap_or_default(),
        }
    };

    CheckDocument {
        schema: document.schema.clone(),
        kind: Kind::Check,
        tool: document.tool.clone(),
        machine: document.machine.clone(),
        results: programs.iter().map(checked).collect(),
        partial: document.partial,
        warnings: document.warnings.clone(),
    }
}
