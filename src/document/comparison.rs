//! Compares two documents: times with their verdicts, counts exactly. Pure.

use super::conditions;
use crate::document::bench::{Cache, Measurement, Ratio};
use crate::document::{Document, Kind};
use crate::output::visible;
use crate::stats::{Bootstrap, Verdict, judge_unpaired};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The comparison of two files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparing {
    /// [`Kind::Compare`].
    pub kind: Kind,
    pub old: PathBuf,
    pub new: PathBuf,
    /// One entry for each program that is in both, in the order of the new file.
    pub programs: Vec<Changed>,
    /// Programs that only the old file has.
    pub only_old: Vec<String>,
    /// Programs that only the new file has.
    pub only_new: Vec<String>,
    /// Differences between the machines and between the ways of measuring.
    pub differing: Vec<Fact>,
    /// What a reader must know, one lower-case line each.
    pub notes: Vec<String>,
}

/// A fact in which two documents differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// Its name in the document.
    pub name: String,
    pub old: Value,
    pub new: Value,
}

/// One program, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changed {
    pub name: String,
    pub cache: Option<Cache>,
    /// Each duration that both files have.
    pub times: Vec<TimeChange>,
    /// Each count that both files have.
    pub counts: Vec<CountChange>,
}

/// One duration, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeChange {
    /// `first_byte`, `total`, or `wall` if a file has no phases.
    pub of: &'static str,
    /// The old median in nanoseconds.
    pub old: f64,
    /// The new median in nanoseconds.
    pub new: f64,
    /// New over old, with a 99 % interval. It covers drift during each measurement, not between the two.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// About the new one.
    pub verdict: Verdict,
}

/// One count, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CountChange {
    /// Its name in the document.
    pub name: &'static str,
    pub old: u64,
    pub new: u64,
    /// The ranges of the counting runs overlap, so the difference may be chance.
    pub varies: bool,
}

/// Why two documents cannot be compared.
#[derive(Debug, Error)]
#[allow(missing_docs)] // each message says it
pub enum CompareError {
    #[error(
        "`{}` has no results{failed}\nhelp: `firstbyte bench --export-json FILE CMD` writes some",
        shown(path)
    )]
    Empty { path: PathBuf, failed: String },
    #[error(
        "`{}` has two results with the name `{}`\nhelp: give them different names: firstbyte bench -n NAME -n OTHER …",
        shown(path),
        visible(name)
    )]
    Twice { path: PathBuf, name: String },
    #[error(
        "`{}` and `{}` have no program in common: {old_names} before, {new_names} after\nhelp: give both the same names: firstbyte bench -n NAME …",
        shown(old),
        shown(new)
    )]
    NothingInCommon { old: PathBuf, new: PathBuf, old_names: String, new_names: String },
    #[error(
        "`{}` and `{}` were measured differently: {facts}\nhelp: measure both on one machine with the same options, or use --force to compare them anyway",
        shown(old),
        shown(new)
    )]
    DifferentMachines { old: PathBuf, new: PathBuf, facts: String },
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

type Named<'d> = (&'d Path, &'d Document);

impl Comparing {
    /// Compares the programs that both documents have. Errors name the files.
    pub fn of(old: Named, new: Named) -> Result<Comparing, CompareError> {
        let (old_names, new_names) = (keys(old)?, keys(new)?);
        let programs: Vec<Changed> = new
            .1
            .results
            .iter()
            .filter_map(|after| {
                let before = old.1.results.iter().find(|before| key(before) == key(after))?;
                Some(Changed::of(before, after))
            })
            .collect();

        let list = |names: &BTreeSet<Key>| {
            let quoted: Vec<String> = names.iter().map(|key| format!("`{}`", visible(&title(key)))).collect();
            quoted.join(", ")
        };
        if programs.is_empty() {
            return Err(CompareError::NothingInCommon {
                old: old.0.to_owned(),
                new: new.0.to_owned(),
                old_names: list(&old_names),
                new_names: list(&new_names),
            });
        }

        let differing =
            differing(old.1, new.1).into_iter().chain(measured_differently(old.1, new.1)).collect();
        let only = |these: &BTreeSet<Key>, those| these.difference(those).map(title).collect();
        Ok(Comparing {
            kind: Kind::Compare,
            old: old.0.to_owned(),
            new: new.0.to_owned(),
            programs,
            only_old: only(&old_names, &new_names),
            only_new: only(&new_names, &old_names),
            differing,
            notes: [notes(old), notes(new), one_sided(old.1, new.1)].concat(),
        })
    }

    /// An error that names the differing facts if there are any.
    pub fn same_machine(&self) -> Result<(), CompareError> {
        if self.differing.is_empty() {
            return Ok(());
        }
        let facts: Vec<String> = self.differing.iter().map(ToString::to_string).collect();
        let (old, new) = (self.old.clone(), self.new.clone());
        Err(CompareError::DifferentMachines { old, new, facts: visible(&facts.join(", ")) })
    }

    /// The programs without a duration that both files have. They may be slower without anybody knowing.
    pub fn untimed(&self) -> Vec<&str> {
        self.programs.iter().filter(|program| program.times.is_empty()).map(|p| p.name.as_str()).collect()
    }

    /// The programs with a duration that has grown by more than this part, with the whole interval.
    pub fn slower_than(&self, limit: f64) -> Vec<&str> {
        let too_slow = |program: &&Changed| program.times.iter().any(|time| time.is_slower_than(limit));
        self.programs.iter().filter(too_slow).map(|program| program.name.as_str()).collect()
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} and {}", self.name, plain(&self.old), plain(&self.new))
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => other.to_string(),
    }
}

/// Results are matched by this.
type Key = (String, Option<Cache>);

fn key(measurement: &Measurement) -> Key {
    // a file that says nothing about the page cache was measured warm
    (measurement.label().to_owned(), measurement.cache.filter(|cache| *cache == Cache::Cold))
}

fn title((name, cache): &Key) -> String {
    cache.map_or_else(|| name.clone(), |cache| format!("{name} ({})", cache.name()))
}

fn keys((path, document): Named) -> Result<BTreeSet<Key>, CompareError> {
    let mut keys = BTreeSet::new();
    for measurement in &document.results {
        let key = key(measurement);
        if keys.contains(&key) {
            return Err(CompareError::Twice { path: path.to_owned(), name: title(&key) });
        }
        keys.insert(key);
    }
    if keys.is_empty() {
        let failed = document.failed.first();
        let failed = failed.map(|failed| format!(": `{}` failed: {}", failed.name, failed.reason));
        let failed = visible(&failed.unwrap_or_default());
        return Err(CompareError::Empty { path: path.to_owned(), failed });
    }
    Ok(keys)
}

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

fn differing(old: &Document, new: &Document) -> Vec<Fact> {
    let fact = |name: &str| (name.to_owned(), old.machine.get(name), new.machine.get(name));
    let facts = FACTS.iter().map(|name| fact(name));
    let known = facts.flat_map(|(name, old, new)| match (old, new) {
        (Some(Value::Null) | None, _) | (_, Some(Value::Null) | None) => Vec::new(),
        (Some(old), Some(new)) => parts(name, old, new),
    });
    let backend = old.tool.backend.as_ref().zip(new.tool.backend.as_ref());
    let backend = backend.map(|(old, new)| Fact {
        name: "backend".to_owned(),
        old: Value::from(old.as_str()),
        new: Value::from(new.as_str()),
    });
    known.chain(backend).filter(|fact| fact.old != fact.new).collect()
}

/// A fact that has parts, part by part: the mitigation that differs, not all of them.
fn parts(name: String, old: &Value, new: &Value) -> Vec<Fact> {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return vec![Fact { name, old: old.clone(), new: new.clone() }];
    };
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let part = |of: &serde_json::Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or_default();
    let fact = |part_name: &String| Fact {
        name: format!("{name}.{part_name}"),
        old: part(before, part_name),
        new: part(after, part_name),
    };
    names.into_iter().map(fact).collect()
}

/// Conditions that differ between runs of the same program, each once.
fn measured_differently(old: &Document, new: &Document) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    for after in &new.results {
        let Some(before) = old.results.iter().find(|before| key(before) == key(after)) else { continue };
        for (name, old, new) in conditions::both(before, after) {
            let fact = Fact { name: name.to_owned(), old, new };
            if fact.old != fact.new && !facts.contains(&fact) {
                facts.push(fact);
            }
        }
    }
    facts
}

fn notes((path, document): Named) -> Vec<String> {
    let file = shown(path);
    let partial =
        document.partial.then(|| format!("`{file}` is partial, because its measuring was interrupted"));
    let unknown =
        document.machine.is_null().then(|| format!("`{file}` does not say on which machine it was measured"));
    let failed =
        document.failed.iter().map(|failed| format!("`{file}`: `{}` failed: {}", failed.name, failed.reason));
    partial.into_iter().chain(unknown).chain(failed).collect()
}

/// Figures of a program that only one of the files has.
fn one_sided(old: &Document, new: &Document) -> Vec<String> {
    let known = |m: &Measurement| -> BTreeSet<&'static str> {
        let first_byte = m.phases.first_byte.is_some().then_some("first_byte");
        m.counts.known().into_iter().map(|(name, _)| name).chain(first_byte).collect()
    };
    let mut notes = Vec::new();
    for after in &new.results {
        let Some(before) = old.results.iter().find(|before| key(before) == key(after)) else { continue };
        let (old, new) = (known(before), known(after));
        for (which, only) in [("old", old.difference(&new)), ("new", new.difference(&old))] {
            let names: Vec<&str> = only.copied().collect();
            if !names.is_empty() {
                notes.push(format!("{}: only in the {which} file: {}", title(&key(after)), names.join(", ")));
            }
        }
    }
    notes
}

impl Changed {
    fn of(old: &Measurement, new: &Measurement) -> Changed {
        let phases = [
            ("first_byte", &old.phases.first_byte, &new.phases.first_byte),
            ("total", &old.phases.total, &new.phases.total),
        ];
        let mut times: Vec<TimeChange> = phases
            .into_iter()
            .filter_map(|(of, old, new)| {
                let nanos = |samples: &[u64]| samples.iter().map(|ns| *ns as f64).collect::<Vec<_>>();
                TimeChange::of(of, &nanos(&old.as_ref()?.samples), &nanos(&new.as_ref()?.samples))
            })
            .collect();
        if times.is_empty() {
            let nanos = |m: &Measurement| m.times.iter().map(|seconds| seconds * 1e9).collect::<Vec<_>>();
            times.extend(TimeChange::of("wall", &nanos(old), &nanos(new)));
        }
        Changed { name: new.label().to_owned(), cache: new.cache, times, counts: count_changes(old, new) }
    }
}

fn count_changes(old_measurement: &Measurement, new_measurement: &Measurement) -> Vec<CountChange> {
    let before = old_measurement.counts.known();
    let both = new_measurement.counts.known().into_iter().filter_map(|(name, new)| {
        let (_, old) = before.iter().find(|(known, _)| *known == name)?;
        let ranges =
            [(old_measurement, *old), (new_measurement, new)].map(|(m, median)| range(m, name, median));
        let [[old_least, old_most], [new_least, new_most]] = ranges;
        let varies = *old != new && old_least <= new_most && new_least <= old_most;
        Some(CountChange { name, old: *old, new, varies })
    });
    both.collect()
}

/// The smallest and the largest of the counting runs; a count that did not vary is both.
fn range(measurement: &Measurement, name: &str, median: u64) -> [u64; 2] {
    measurement.varying.get(name).copied().unwrap_or([median, median])
}

impl TimeChange {
    fn of(of: &'static str, old: &[f64], new: &[f64]) -> Option<TimeChange> {
        let comparison = judge_unpaired(old, new, Bootstrap::default().seed)?;
        let median = |values: &[f64]| crate::stats::Statistics::of(values).map(|summary| summary.median);
        Some(TimeChange {
            of,
            old: median(old)?,
            new: median(new)?,
            ratio: comparison.into(),
            verdict: comparison.verdict(),
        })
    }

    /// It has grown by more than this part, with the whole interval.
    pub fn is_slower_than(&self, limit: f64) -> bool {
        self.verdict == Verdict::Slower && self.ratio.low > 1.0 + limit
    }
}

#[cfg(test)]
mod tests;
