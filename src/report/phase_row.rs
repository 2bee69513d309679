//! The phases of one program, as every bar draws them.

use crate::document::bench::Measurement;
use crate::document::trace::TraceProgram;
use firstbyte_measure::timeline::{PerPhase, Phase};

/// Up to this ratio of the longest bar to the shortest, a linear scale shows both.
pub(crate) const LARGEST_LINEAR_RATIO: f64 = 25.0;

/// All in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhaseRow {
    pub(crate) name: String,
    /// 0 for a phase that the program does not have.
    pub(crate) phases: PerPhase<f64>,
    /// The medians of the phases need not sum to the median of the total.
    pub(crate) total: f64,
}

impl PhaseRow {
    /// The medians of a measured program; `None` if the backend saw no phases.
    pub(crate) fn measured(measurement: &Measurement, name: String) -> Option<PhaseRow> {
        let phases = measurement.phases.medians()?;
        let total = measurement.phases.total.as_ref()?.median;
        Some(PhaseRow { name, phases, total })
    }

    /// The usual phases of a traced program; of a document without them, those of the run that is shown.
    pub(crate) fn traced(traced: &TraceProgram) -> Option<PhaseRow> {
        let usual = &traced.phases.each;
        let shown = traced.shown_phases();
        let has_usual = usual[Phase::Startup].is_some();
        if !has_usual && shown.iter().all(|(_, ns)| ns.is_none()) {
            return None;
        }

        let of_run = |phase: Phase| shown[phase].map(|ns| ns as f64);
        let of_all = |phase: Phase| usual[phase].map(|figure| figure.typical());
        let length = |phase| if has_usual { of_all(phase) } else { of_run(phase) };
        let total = traced.phases.total.map_or(traced.total_ns as f64, |total| total.typical());
        Some(PhaseRow {
            name: traced.label().to_owned(),
            phases: PerPhase::from_fn(|phase| length(phase).unwrap_or_default()),
            total,
        })
    }

    /// The sum of the phases.
    pub(crate) fn end(&self) -> f64 {
        self.phases.iter().map(|(_, ns)| ns).sum()
    }
}
