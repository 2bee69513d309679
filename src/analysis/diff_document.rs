//! Two start-ups and what differs between them, as a document.

use super::difference::{Amount, Change, Compared, Difference, Side};
use super::finding_changes::{self, FindingChange};
use super::summary::Summary;
use super::trace_document::{counts, phases};
use crate::document::Kind;
use crate::document::bench::{Ratio, SCHEMA, ToolVersion};
use crate::document::diff::{
    DiffAmount, DiffChange, DiffChanges, DiffDocument, DiffFinding, DiffKind, DiffSide,
};
use serde_json::Value;

pub fn diff_document(compared: &Compared, machine: Value) -> DiffDocument {
    DiffDocument {
        schema: SCHEMA.to_owned(),
        kind: Kind::Diff,
        tool: ToolVersion::ours(),
        machine,
        results: compared.sides.each_ref().map(side),
        difference: changes_between(compared),
    }
}

/// What the second side has and the first does not, and what it has more of: programs, loads, files and steps.
///
/// The steps about a file that is in the list are left out.
pub fn came(first: &Summary, second: &Summary) -> Vec<DiffChange> {
    let difference = Difference::between(first, second);
    let more = |change: &&Change| {
        let count = |amount: Option<Amount>| amount.map_or(0.0, |amount| amount.count);
        count(change.after) > count(change.before)
    };
    let new_files: Vec<&Change> =
        difference.files.iter().filter(|file| file.before.is_none() && more(file)).collect();
    let is_about_new = |step: &Change| new_files.iter().any(|file| step.name.contains(&file.name));
    let steps = difference.steps.iter().filter(|step| !is_about_new(step));

    let kinds = [
        ("program", difference.programs.iter().filter(more).collect::<Vec<_>>()),
        ("load", difference.loads.iter().filter(more).collect()),
        ("file", new_files.clone()),
        ("step", steps.filter(more).collect()),
    ];
    let of_kind = |(kind, all): (&str, Vec<&Change>)| -> Vec<DiffChange> {
        all.into_iter().map(|one| DiffChange { kind: Some(kind.to_owned()), ..change(one) }).collect()
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

fn side(side: &Side) -> DiffSide {
    let summary = side.summary;
    DiffSide {
        command: side.name.to_owned(),
        median: summary.total.median / 1e9,
        mean: Some(summary.total.middle / 1e9),
        min: summary.total.least / 1e9,
        max: summary.total.most / 1e9,
        runs: summary.runs,
        phases: phases(summary),
        counts: counts(&summary.counts),
        lost_events: summary.lost,
        notes: side.all_notes().cloned().collect(),
    }
}

fn changes_between(compared: &Compared) -> DiffChanges {
    let [first, second] = compared.sides.each_ref().map(|side| side.summary);
    let difference = Difference::between(first, second);
    let (before, after) = (first.total.middle, second.total.middle);

    DiffChanges {
        total_ns: after - before,
        ratio: after / before.max(1.0),
        comparison: compared.comparison.map(Ratio::from),
        verdict: compared.comparison.map(|comparison| comparison.verdict()),
        in_turn: compared.in_turn,
        kinds: kinds(&difference),
        attribution: attribution(&difference),
        steps: changes(&difference.steps),
        files: changes(&difference.files),
        loads: changes(&difference.loads),
        programs: changes(&difference.programs),
        marks: changes(&difference.marks),
        findings: finding_changes::between(compared.sides.each_ref()).iter().map(finding).collect(),
    }
}

/// A finding as the document has it.
pub fn finding(change: &FindingChange) -> DiffFinding {
    DiffFinding {
        rule: change.rule.to_owned(),
        text: change.text.clone(),
        before_ns: change.costs[0],
        after_ns: change.costs[1],
        unknown: change.unknown,
        ns: change.difference(),
        interval_ns: change.interval,
    }
}

fn kinds(difference: &Difference) -> Vec<DiffKind> {
    let kinds = difference.kinds.iter();
    kinds
        .map(|(kind, a, b)| DiffKind { kind: kind.key().to_owned(), before: amount(*a), after: amount(*b) })
        .collect()
}

fn attribution(difference: &Difference) -> Vec<DiffChange> {
    let shares = difference.shares.iter();
    shares.map(|(kind, share)| DiffChange { kind: Some(kind.key().to_owned()), ..change(share) }).collect()
}

fn changes(all: &[Change]) -> Vec<DiffChange> {
    all.iter().map(change).collect()
}

fn change(change: &Change) -> DiffChange {
    DiffChange {
        kind: None,
        name: change.name.clone(),
        before: change.before.map(amount),
        after: change.after.map(amount),
        ns: change.difference(),
        uncertain: change.is_uncertain(),
    }
}

fn amount(amount: Amount) -> DiffAmount {
    DiffAmount { ns: amount.time, count: amount.count }
}
