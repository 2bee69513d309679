//! The parts of a program's runs that have a name, over all its runs, and against those of another program.

use super::sample::Series;
use crate::document::named_span::{NamedSpan, SpanRelative, told_apart};
use crate::stats::{judge, median_count};
use firstbyte_measure::timeline::marks::{SpanKind, SpanSum};
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The region between two texts, then the marks in the order in which they appear.
pub(super) fn named_spans(series: &Series, reference: Option<&Series>) -> Vec<NamedSpan> {
    let region = series.region.as_ref().and_then(|region| {
        NamedSpan::region(&region.region, region.times.iter().map(|(_, time)| time.0).collect())
    });
    let theirs = reference.map(|reference| (reference, marks(reference)));
    let region = region.map(|region| NamedSpan {
        relative: theirs
            .as_ref()
            .and_then(|(other, _)| relative(other, region_times(series), region_times(other))),
        ..region
    });
    let marks = marks(series).into_iter().filter_map(|mark| {
        let other = theirs.as_ref().and_then(|(other, marks)| {
            Some((
                *other,
                marks.iter().find(|other| {
                    other.first.kind == mark.first.kind && other.first.name == mark.first.name
                })?,
            ))
        });
        let relative = other.and_then(|(series, other)| relative(series, &mark.times, &other.times));
        Some(NamedSpan { relative, ..mark.document()? })
    });
    told_apart(region.into_iter().chain(marks).collect())
}

/// The parts of one name in several runs.
#[derive(Debug)]
pub struct MarkOverRuns {
    /// What all of them have in common.
    pub first: SpanSum,
    counts: Vec<u64>,
    /// Each with the number of its run.
    times: Vec<(u32, Nanos)>,
}

impl MarkOverRuns {
    fn add(&mut self, run: u32, sum: &SpanSum) {
        self.counts.push(sum.count);
        self.times.push((run, sum.time));
        self.first.unended |= sum.unended;
        if self.first.after != sum.after {
            self.first.after = None;
        }
    }

    /// As a document has them; without places, and compared with nothing.
    pub fn document(&self) -> Option<NamedSpan> {
        let samples = self.times.iter().map(|(_, time)| time.0).collect();
        let count = median_count(self.counts.clone()).unwrap_or_default();
        NamedSpan::marked(&self.first, count, samples)
    }
}

fn marks(series: &Series) -> Vec<MarkOverRuns> {
    over_runs(series.samples.iter().map(|sample| &sample.marks.spans[..]))
}

/// Of each run its parts: those of one name together, in the order in which they appear first.
pub fn over_runs<'s>(runs: impl Iterator<Item = &'s [SpanSum]>) -> Vec<MarkOverRuns> {
    let mut all: Vec<MarkOverRuns> = Vec::new();
    let mut places: HashMap<(SpanKind, Arc<str>), usize> = HashMap::new();
    for (run, sums) in (0..).zip(runs) {
        for sum in sums {
            let place = *places.entry((sum.kind, Arc::clone(&sum.name))).or_insert(all.len());
            if place == all.len() {
                all.push(MarkOverRuns { first: sum.clone(), counts: Vec::new(), times: Vec::new() });
            }
            all[place].add(run, sum);
        }
    }
    all
}

/// A part against another program's, in the runs in which both have it.
fn relative(reference: &Series, ours: &[(u32, Nanos)], theirs: &[(u32, Nanos)]) -> Option<SpanRelative> {
    let (ours, theirs) = pairs(ours, theirs)?;
    let comparison = judge(&theirs, &ours)?;
    let verdict = comparison.verdict();
    Some(SpanRelative { reference: reference.name.clone(), ratio: comparison.into(), verdict })
}

/// Times by the number of the run or round, of those that both have, in nanoseconds.
pub(super) fn pairs(ours: &[(u32, Nanos)], theirs: &[(u32, Nanos)]) -> Option<(Vec<f64>, Vec<f64>)> {
    let theirs: BTreeMap<u32, Nanos> = theirs.iter().copied().collect();
    let pairs = ours.iter().filter_map(|(round, time)| Some((*time, *theirs.get(round)?)));
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.map(|(a, b)| (a.as_f64(), b.as_f64())).unzip();
    (!ours.is_empty()).then_some((ours, theirs))
}

pub(super) fn region_times(series: &Series) -> &[(u32, Nanos)] {
    series.region.as_ref().map(|region| &region.times[..]).unwrap_or_default()
}
