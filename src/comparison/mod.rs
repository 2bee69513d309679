//! Compares two documents: times with their verdicts, counts exactly. Pure.
//!
//! [`compare`] makes the document of `firstbyte compare`; [`differing`] finds what else differs between the two files.
//! [`machines`] finds the machine that is unlike the others. [`watches`] compares files of `firstbyte watch`.

mod differing;
pub mod machines;
pub mod watches;

use crate::document::bench::{Cache, Measurement};
use crate::document::compare::{CompareDocument, ComparedProgram, CountChange, TimeChange};
use crate::document::{Document, Kind};
use crate::output::{visible, visible_path};
use crate::stats::{Bootstrap, Statistics, Verdict, judge_unpaired};
use differing::{differing, measured_differently};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why two documents cannot be compared.
#[derive(Debug, Error)]
#[allow(missing_docs)] // each message says it
pub enum CompareError {
    #[error(
        "`{}` has no results{failed}\nhelp: `firstbyte bench --export-json FILE CMD` writes some",
        visible_path(path)
    )]
    Empty { path: PathBuf, failed: String },
    #[error(
        "`{}` has two results with the name `{}`\nhelp: give them different names: firstbyte bench -n NAME -n OTHER …",
        visible_path(path),
        visible(name)
    )]
    Twice { path: PathBuf, name: String },
    #[error(
        "`{}` and `{}` have no program in common: {old_names} before, {new_names} after\nhelp: give both the same names: firstbyte bench -n NAME …",
        visible_path(old),
        visible_path(new)
    )]
    NothingInCommon { old: PathBuf, new: PathBuf, old_names: String, new_names: String },
    #[error(
        "`{}` and `{}` were measured differently: {facts}\nhelp: measure both on one machine with the same options, or use --force to compare them anyway",
        visible_path(old),
        visible_path(new)
    )]
    DifferentMachines { old: PathBuf, new: PathBuf, facts: String },
}

type NamedDocument<'d> = (&'d Path, &'d Document);

/// Compares the programs that both documents have. Errors name the files.
pub fn compare(old: NamedDocument, new: NamedDocument) -> Result<CompareDocument, CompareError> {
    let (old_names, new_names) = (keys(old)?, keys(new)?);
    let programs: Vec<ComparedProgram> = new
        .1
        .results
        .iter()
        .filter_map(|after| {
            let before = old.1.results.iter().find(|before| key(before) == key(after))?;
            Some(compared_program(before, after))
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

    let differing = differing(old.1, new.1).into_iter().chain(measured_differently(old.1, new.1)).collect();
    let only = |these: &BTreeSet<Key>, those| these.difference(those).map(title).collect();
    Ok(CompareDocument {
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
pub fn same_machine(document: &CompareDocument) -> Result<(), CompareError> {
    if document.differing.is_empty() {
        return Ok(());
    }
    let facts: Vec<String> = document.differing.iter().map(ToString::to_string).collect();
    let (old, new) = (document.old.clone(), document.new.clone());
    Err(CompareError::DifferentMachines { old, new, facts: visible(&facts.join(", ")) })
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

fn keys((path, document): NamedDocument) -> Result<BTreeSet<Key>, CompareError> {
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

fn notes((path, document): NamedDocument) -> Vec<String> {
    let file = visible_path(path);
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

fn compared_program(old: &Measurement, new: &Measurement) -> ComparedProgram {
    let phases = [
        ("first_byte", &old.phases.first_byte, &new.phases.first_byte),
        ("total", &old.phases.total, &new.phases.total),
    ];
    let mut times: Vec<TimeChange> = phases
        .into_iter()
        .filter_map(|(of, old, new)| {
            let nanos = |samples: &[u64]| samples.iter().map(|ns| *ns as f64).collect::<Vec<_>>();
            time_change(of, &nanos(&old.as_ref()?.samples), &nanos(&new.as_ref()?.samples))
        })
        .collect();
    if times.is_empty() {
        let nanos = |m: &Measurement| m.times.iter().map(|seconds| seconds * 1e9).collect::<Vec<_>>();
        times.extend(time_change("wall", &nanos(old), &nanos(new)));
    }

    let (old_failures, new_failures) = (old.failures(), new.failures());
    if !old_failures.keys().eq(new_failures.keys()) {
        // runs that ended in different ways did different work
        for time in &mut times {
            time.verdict = Verdict::CantTell;
        }
    }
    ComparedProgram {
        name: new.label().to_owned(),
        cache: new.cache,
        times,
        counts: count_changes(old, new),
        limits: [("old", old), ("new", new)].into_iter().flat_map(limits).collect(),
        failed: !old_failures.is_empty() || !new_failures.is_empty(),
    }
}

fn limits((which, measurement): (&str, &Measurement)) -> Vec<String> {
    let limits = measurement.limits_to_comparison();
    limits.into_iter().map(|limit| format!("{which} file: {limit}")).collect()
}

fn count_changes(old_measurement: &Measurement, new_measurement: &Measurement) -> Vec<CountChange> {
    let before = old_measurement.counts.known();
    let both = new_measurement.counts.known().into_iter().filter_map(|(name, new)| {
        let (_, old) = before.iter().find(|(known, _)| *known == name)?;
        let ranges =
            [(old_measurement, *old), (new_measurement, new)].map(|(m, median)| range(m, name, median));
        let [[old_least, old_most], [new_least, new_most]] = ranges;
        let varies = *old != new && old_least <= new_most && new_least <= old_most;
        Some(CountChange { name: name.to_owned(), old: *old, new, varies })
    });
    both.collect()
}

/// The smallest and the largest of the counting runs; a count that did not vary is both.
fn range(measurement: &Measurement, name: &str, median: u64) -> [u64; 2] {
    measurement.varying.get(name).copied().unwrap_or([median, median])
}

fn time_change(of: &str, old: &[f64], new: &[f64]) -> Option<TimeChange> {
    let comparison = judge_unpaired(old, new, Bootstrap::default().seed)?;
    let median = |values: &[f64]| Statistics::of(values).map(|summary| summary.median);
    Some(TimeChange {
        of: of.to_owned(),
        old: median(old)?,
        new: median(new)?,
        ratio: comparison.into(),
        verdict: comparison.verdict(),
    })
}

#[cfg(test)]
mod tests;
