//! What all passes share: the programs, and the evidence so far.

use super::{PassOptions, Watcher};
use crate::analysis::processor_time;
use crate::bench::{
    Aim, Campaign, Counting, Experiment, ExperimentEntry, ExperimentError, ProcessorRuns, RunLimit, Series,
};
use crate::claims::{ClaimEvidence, Lack, Needs, claim_programs, gather};
use crate::corpus::{Built, Corpus, PrepareOptions, Program, SkippedProgram, build_cache, prepare_all};
use crate::document::bench::Overhead;
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::tracer::phases::choose_phases;
use firstbyte_measure::tracer::{BackendChoice, Tracer};
use std::collections::BTreeSet;

pub(super) struct Session<'s> {
    pub(super) needs: &'s Needs,
    pub(super) options: PassOptions,
    /// Why files cannot be replaced by copies for cold runs.
    pub(super) cold: Result<(), String>,
    ready: Vec<(Program, Built)>,
    pub(super) skipped: Vec<SkippedProgram>,
    pub(super) watcher: Watcher<'s>,
    pub(super) evidence: ClaimEvidence,
    /// What observed the warm runs, once these have been made.
    pub(super) backend: Option<String>,
    pub(super) overhead: Vec<Overhead>,
}

impl<'s> Session<'s> {
    /// Builds and verifies the programs that are needed.
    pub(super) fn begin(
        needs: &'s Needs,
        options: PassOptions,
        cold: Result<(), String>,
        watcher: Watcher<'s>,
    ) -> Result<Session<'s>, ExperimentError> {
        let corpus = Corpus::load(None).map_err(ExperimentError::machine)?;
        let additional = claim_programs::programs().map_err(ExperimentError::machine)?;
        let wanted = needs.built();
        let all = corpus.programs().iter().chain(&additional);
        let programs: Vec<&Program> = all.filter(|program| wanted.contains(program.name())).collect();
        let cache = build_cache().map_err(ExperimentError::machine)?;
        let interrupted = || interrupt::interrupted().is_some();
        let results = prepare_all(&programs, &cache, PrepareOptions::new(&interrupted), watcher.building);

        let (mut ready, mut skipped) = (Vec::new(), Vec::new());
        for (program, result) in programs.into_iter().zip(results) {
            match result {
                Ok(built) => ready.push((program.clone(), built)),
                Err(obstacle) => skipped.push(obstacle),
            }
        }
        Ok(Session {
            needs,
            options,
            cold,
            ready,
            skipped,
            watcher,
            evidence: ClaimEvidence::default(),
            backend: None,
            overhead: Vec::new(),
        })
    }

    /// The programs that could be built.
    pub(super) fn built(&self) -> impl Iterator<Item = &Built> {
        self.ready.iter().map(|(_, built)| built)
    }

    pub(super) fn named(&self, names: &BTreeSet<&str>) -> Vec<&(Program, Built)> {
        self.ready.iter().filter(|(program, _)| names.contains(program.name())).collect()
    }

    /// One of two numbers of runs.
    pub(super) fn runs(&self, quick: u32, full: u32) -> RunLimit {
        RunLimit::Runs(self.number(quick, full))
    }

    fn number(&self, quick: u32, full: u32) -> u32 {
        if self.options.quick { quick } else { full }
    }

    /// Warm runs without counting runs.
    pub(super) fn experiment(&self, entries: Vec<ExperimentEntry>, limit: RunLimit) -> Experiment {
        let campaign =
            Campaign { aim: Aim::Time, limit, warmup: 2, seed: self.options.seed, overhead: false };
        Experiment {
            entries,
            campaign,
            cold: None,
            residence: false,
            env_offset: false,
            counting: Counting::default(),
        }
    }

    /// Makes warm runs, and as many in which every entry into the kernel is seen.
    pub(super) fn divided(
        &mut self,
        entries: Vec<ExperimentEntry>,
        (quick, full): (u32, u32),
    ) -> Result<(), Lack> {
        let runs = self.number(quick, full);
        let mut experiment = self.experiment(entries, RunLimit::Runs(runs));
        let explain = processor_time::of_recording;
        experiment.counting.processor =
            Some(ProcessorRuns { least: runs, most: runs, compared: true, explain });
        let series = self.traced(experiment)?;
        gather::user_times(&mut self.evidence, self.needs, &series);
        Ok(())
    }

    /// Makes the runs with the usual tracer.
    pub(super) fn traced(&mut self, experiment: Experiment) -> Result<Vec<Series>, Lack> {
        self.observed(experiment, &mut *tracer()?)
    }

    /// Makes the runs. What is finished is kept.
    pub(super) fn observed(
        &mut self,
        experiment: Experiment,
        observer: &mut dyn Tracer,
    ) -> Result<Vec<Series>, Lack> {
        let measured = experiment.run(observer, self.watcher.runs).map_err(Lack::of)?;
        Ok(measured.series)
    }
}

pub(super) fn tracer() -> Result<Box<dyn Tracer>, Lack> {
    Ok(choose_phases(BackendChoice::Auto).map_err(Lack::of)?.tracer)
}
