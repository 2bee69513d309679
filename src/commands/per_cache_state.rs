//! What `bench` and `showdown` share: the experiment in each state of the page cache, saved while it goes on.

use super::CommandError;
use super::export::{self, Export};
use super::progress::ExperimentBar;
use crate::bench::results::{self, ComparedWith};
use crate::bench::{Experiment, Measured, Series};
use crate::cli::style::Style;
use crate::document::Document;
use crate::document::bench::{ColdMethod, Warning};
use crate::report::formats::Exported;
use firstbyte_measure::tracer::Tracer;

/// A measurement in some states of the page cache.
pub(super) struct PerCacheState<'p> {
    /// How the page cache is made cold in each state; `None`: it stays warm.
    pub(super) caches: &'p [Option<ColdMethod>],
    pub(super) exports: &'p [Export],
    /// The document without results.
    pub(super) header: Document,
    pub(super) compared: ComparedWith,
    /// How the progress looks.
    pub(super) style: Style,
}

impl PerCacheState<'_> {
    /// Measures in every state, until one of them ends early. `experiment` makes the experiment of a state, and `warnings`
    /// says what a reader must know of its results.
    pub(super) fn run(
        &self,
        tracer: &mut dyn Tracer,
        experiment: impl Fn(Option<ColdMethod>) -> Result<Experiment, CommandError>,
        warnings: impl Fn(&Document, &Measured) -> Vec<Warning>,
    ) -> Result<Document, CommandError> {
        let mut document = self.header.clone();
        for state in self.caches {
            let measured = self.saved(experiment(*state)?, tracer, &document)?;
            document = results::merge(document, results::finished(&self.header, &measured, &self.compared));
            let warnings = warnings(&document, &measured);
            document.finish = Some(measured.ending.finish);
            document.add_warnings(warnings);
            if measured.is_partial() {
                break;
            }
        }
        Ok(document)
    }

    /// Makes the runs, and exports finished results meanwhile. `before`: what was measured in other states.
    fn saved(
        &self,
        experiment: Experiment,
        tracer: &mut dyn Tracer,
        before: &Document,
    ) -> Result<Measured, CommandError> {
        let mut save = |series: &[Series]| {
            let so_far = results::document_so_far(&self.header, series, &self.compared);
            // If this fails, it is tried again at the end, and reported then.
            let partial = Document { partial: true, ..results::merge(before.clone(), so_far) };
            let _ = export::write(self.exports, &Exported::Bench(&partial), false);
        };
        let bar = ExperimentBar::new(if self.exports.is_empty() { None } else { Some(&mut save) });
        let mut bar = bar.styled(self.style);
        Ok(experiment.run(tracer, &mut bar)?)
    }
}
