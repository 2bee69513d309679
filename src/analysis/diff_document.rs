//! Two start-ups and what differs between them, as a document.

use super::difference::{Amount, Change, Compared, Difference, Side};
use super::trace_document::{counts, phases};
use crate::document::Kind;
use crate::document::bench::{Ratio, SCHEMA, ToolVersion};
use crate::document::diff::{DiffAmount, DiffChange, DiffChanges, DiffDocument, DiffKind, DiffSide};
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
    }
}

fn amount(amount: Amount) -> DiffAmount {
    DiffAmount { ns: amount.time, count: amount.count }
}
