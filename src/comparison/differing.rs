//! In what two documents differ besides their results: the machines, and how the programs were run.

use super::key;
use crate::document::Document;
use crate::document::bench::Measurement;
use crate::document::compare::ComparedFact;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Facts of a machine that affect its times. A fact that one of the two files does not have is not a difference.
const FACTS: [&str; 13] = [
    "cpu_model",
    "cores",
    "architecture",
    "memory",
    "kernel_release",
    "page_size",
    "mitigations",
    "governor",
    "virtualisation",
    "clock_source",
    "transparent_huge_pages",
    "environment_origin",
    "environment",
];

pub(super) fn differing(old: &Document, new: &Document) -> Vec<ComparedFact> {
    let fact = |name: &str| (name.to_owned(), old.machine.get(name), new.machine.get(name));
    let facts = FACTS.iter().map(|name| fact(name));
    let known = facts.flat_map(|(name, old, new)| match (old, new) {
        (Some(Value::Null) | None, _) | (_, Some(Value::Null) | None) => Vec::new(),
        (Some(old), Some(new)) => parts(name, old, new),
    });
    let backend = old.tool.backend.as_ref().zip(new.tool.backend.as_ref());
    let backend = backend.map(|(old, new)| ComparedFact {
        name: "backend".to_owned(),
        old: Value::from(old.as_str()),
        new: Value::from(new.as_str()),
    });
    known.chain(backend).filter(|fact| fact.old != fact.new).collect()
}

/// A fact that has parts, part by part: the mitigation that differs, not all of them.
fn parts(name: String, old: &Value, new: &Value) -> Vec<ComparedFact> {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return vec![ComparedFact { name, old: old.clone(), new: new.clone() }];
    };
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let part = |of: &serde_json::Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or_default();
    let fact = |part_name: &String| ComparedFact {
        name: format!("{name}.{part_name}"),
        old: part(before, part_name),
        new: part(after, part_name),
    };
    names.into_iter().map(fact).collect()
}

/// Conditions that differ between runs of the same program, each once.
pub(super) fn measured_differently(old: &Document, new: &Document) -> Vec<ComparedFact> {
    let mut facts: Vec<ComparedFact> = Vec::new();
    for after in &new.results {
        let Some(before) = old.results.iter().find(|before| key(before) == key(after)) else { continue };
        for (name, old, new) in both(before, after) {
            let fact = ComparedFact { name: name.to_owned(), old, new };
            if fact.old != fact.new && !facts.contains(&fact) {
                facts.push(fact);
            }
        }
    }
    facts
}

/// The names of the conditions. What a later version adds may not affect the times.
const NAMES: [&str; 7] = ["output", "cpus", "until", "input", "shell", "env_offset", "variables"];

/// Each condition that both results have, by its name, and the method of cold runs.
fn both(old: &Measurement, new: &Measurement) -> Vec<(&'static str, Value, Value)> {
    let known = NAMES.iter().filter_map(|name| {
        let (old, new) = (old.plan.get(*name)?, new.plan.get(*name)?);
        Some((*name, old.clone(), new.clone()))
    });
    let cold = old.cold.as_ref().zip(new.cold.as_ref());
    let method = cold.map(|(old, new)| ("cold_method", json!(old.method), json!(new.method)));
    known.chain(method).collect()
}
