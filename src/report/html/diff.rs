//! Two programs side by side, for the page's script.

use super::block::{PageBlock, Section};
use super::packed::packed;
use super::programs::spread;
use crate::document::bench::Measurement;
use crate::document::trace::TraceProgram;
use crate::output::visible;
use crate::report::pictures::charts::name;
use serde::Serialize;

/// A program without its spans.
#[derive(Debug, Serialize)]
struct ProgramSummary {
    label: String,
    /// `[name, median in nanoseconds, spread in words]`.
    phases: Vec<(String, f64, String)>,
    counts: Vec<(&'static str, u64)>,
    /// Its place among the timelines.
    trace: Option<usize>,
}

/// The section, and the data of the script; `None` with fewer than two programs.
pub(crate) fn section(measured: &[&Measurement], traced: &[&TraceProgram]) -> Option<(Section, String)> {
    let mut subjects: Vec<ProgramSummary> =
        traced.iter().enumerate().map(|(n, traced)| of_trace(n, traced)).collect();
    subjects.extend(measured.iter().map(|m| of_measurement(m, measured)));
    if subjects.len() < 2 {
        return None;
    }
    let mut section = Section::new("diff", "Side by side");
    let labels = subjects.iter().map(|subject| subject.label.clone()).collect();
    section.blocks.push(PageBlock::Diff { subjects: labels });
    Some((section, packed(&subjects)))
}

fn of_trace(index: usize, traced: &TraceProgram) -> ProgramSummary {
    let label = format!("{} (traced)", visible(traced.label()));
    ProgramSummary { label, phases: Vec::new(), counts: Vec::new(), trace: Some(index) }
}

fn of_measurement(m: &Measurement, all: &[&Measurement]) -> ProgramSummary {
    let known = m.phases.named().into_iter().filter_map(|(phase, d)| Some((phase, d?)));
    let phases = known.map(|(phase, d)| (phase.replace('_', " "), d.median, spread(d)));
    ProgramSummary {
        label: visible(&name(m, all)),
        phases: phases.collect(),
        counts: m.counts.known(),
        trace: None,
    }
}
