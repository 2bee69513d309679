//! Two start-ups and what lies between them, as JSON.

use crate::account::difference::{Amount, Change, Difference};
use crate::document::bench::{Ratio, SCHEMA};
use crate::document::trace::{counts, phases};
use crate::report::text::diff::{Compared, Side};
use serde_json::{Value, json};

/// The document, indented: both sides under `results`, what changed under `difference`. Times are nanoseconds but for
/// hyperfine's fields, which are seconds.
pub fn render(compared: &Compared, machine: &Value) -> String {
    let [first, second] = compared.sides.each_ref().map(|side| side.summary);
    let difference = Difference::between(first, second);
    let document = json!({
        "schema": SCHEMA,
        "tool": {"name": "firstbyte", "version": env!("CARGO_PKG_VERSION")},
        "machine": machine,
        "results": compared.sides.iter().map(side).collect::<Vec<Value>>(),
        "difference": {
            "total_ns": second.total.median - first.total.median,
            "ratio": second.total.median / first.total.median.max(1.0),
            "comparison": compared.comparison.map(Ratio::from),
            "verdict": compared.comparison.map(|comparison| comparison.verdict()),
            "in_turn": compared.in_turn,
            "kinds": kinds(&difference),
            "attribution": attribution(&difference),
            "steps": changes(&difference.steps),
            "files": changes(&difference.files),
            "programs": changes(&difference.programs),
        },
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn side(side: &Side) -> Value {
    let summary = side.summary;
    json!({
        "command": side.name,
        "median": summary.total.median / 1e9,
        "min": summary.total.least / 1e9,
        "max": summary.total.most / 1e9,
        "runs": summary.runs,
        "phases": phases(summary),
        "counts": counts(&summary.counts),
        "lost_events": summary.lost,
        "notes": side.notes,
    })
}

fn kinds(difference: &Difference) -> Vec<Value> {
    let kinds = difference.kinds.iter();
    kinds.map(|(kind, a, b)| json!({"kind": kind.key(), "before": amount(*a), "after": amount(*b)})).collect()
}

fn attribution(difference: &Difference) -> Vec<Value> {
    let shares = difference.shares.iter();
    shares
        .map(|(kind, of_kind)| {
            let mut value = change(of_kind);
            value["kind"] = json!(kind.key());
            value
        })
        .collect()
}

fn changes(all: &[Change]) -> Vec<Value> {
    all.iter().map(change).collect()
}

/// `before` or `after` is null for what is not there.
fn change(change: &Change) -> Value {
    json!({
        "name": change.name,
        "before": change.before.map(amount),
        "after": change.after.map(amount),
        "ns": change.difference(),
    })
}

fn amount(amount: Amount) -> Value {
    json!({"ns": amount.time, "count": amount.count})
}
