//! All designs, built and measured: the document of `firstbyte throughput`.

use super::design::{self, BASELINE, Design};
use super::post;
use super::sink::{Sink, SinkFolders};
use super::sweep::{Sweep, SweepCell, Swept, Wrong};
use crate::bench::interference::InterferenceWatch;
use crate::bench::{ExperimentError, Progress};
use crate::corpus::{PrepareOptions, PrepareStep, Program, build_cache, prepare_all};
use crate::document::bench::{Skipped, Tool};
use crate::document::throughput::{Throughput, ThroughputDocument, WrongOutput};
use firstbyte_measure::launch::interrupt;

use std::path::PathBuf;
use std::time::Duration;

/// What to measure.
#[derive(Clone, Debug)]
pub struct ThroughputPlan {
    /// The numbers of lines, ascending.
    pub counts: Vec<u64>,
    pub sinks: Vec<Sink>,
    /// The designs that are wanted; all if empty.
    pub only: Vec<String>,
    /// The user's own designs.
    pub own: Vec<Design>,
    /// The post's table is repeated.
    pub post: bool,
    /// The number of runs of each design, for each target and number of lines.
    pub runs: u32,
    /// A design is not repeated once its runs have taken this long.
    pub enough: Duration,
    /// A run is killed after this long.
    pub timeout: Duration,
    /// The folder for files.
    pub directory: PathBuf,
    /// The folder for files in memory.
    pub memory: PathBuf,
    pub seed: u64,
}

/// Builds the designs and measures them, interleaved. `building` hears of the programs that are built.
pub fn measure(
    plan: ThroughputPlan,
    building: &(dyn Fn(PrepareStep) + Sync),
    progress: &mut dyn Progress,
) -> Result<ThroughputDocument, ExperimentError> {
    let (designs, skipped) = plan.designs(building)?;
    let machine = crate::document::this_machine();
    let mut document =
        ThroughputDocument { skipped, ..ThroughputDocument::new(Tool::ours(), machine, BASELINE) };
    if plan.post {
        document.published = post::published(&plan.counts);
    }
    if interrupt::interrupted().is_some() {
        document.partial = true;
        return Ok(document);
    }

    let sweep = plan.sweep(designs);
    document.warnings = sweep.folders.warnings(&sweep.sinks);
    progress.planned(sweep.planned());
    let watch = InterferenceWatch::begin();
    let swept = sweep.run(&mut |runs| (0..runs).for_each(|_| progress.ran("")));
    let interference = watch.end().warnings(&document.machine);
    progress.ended();
    document.warnings.extend(interference.iter().map(ToString::to_string));

    fill(&mut document, &sweep, swept);
    Ok(document)
}

impl ThroughputPlan {
    /// Finds a folder in which no file can be created, before the first run. The error is the message for the user.
    pub fn check(&self) -> Result<(), String> {
        let disk = self.sinks.iter().any(|sink| matches!(sink, Sink::File | Sink::Overwrite));
        let memory = self.sinks.iter().any(|sink| matches!(sink, Sink::Tmpfs | Sink::Wc));
        for (needed, folder, option) in
            [(disk, &self.directory, "--directory"), (memory, &self.memory, "--memory")]
        {
            if let Some(error) = needed.then(|| tempfile::tempfile_in(folder).err()).flatten() {
                let folder = folder.display();
                return Err(format!(
                    "`{folder}` cannot hold files: {error}\nhelp: name another folder by {option}"
                ));
            }
        }
        Ok(())
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || name == BASELINE || self.only.iter().any(|design| design == name)
    }

    /// The designs that this machine can build, and those that it cannot.
    fn designs(
        &self,
        building: &(dyn Fn(PrepareStep) + Sync),
    ) -> Result<(Vec<Design>, Vec<Skipped>), ExperimentError> {
        let programs = design::programs().map_err(ExperimentError::machine)?;
        let wanted: Vec<&Program> = programs.iter().filter(|program| self.wants(program.name())).collect();
        let cache = build_cache().map_err(ExperimentError::machine)?;
        let interrupted = || interrupt::interrupted().is_some();
        let results = prepare_all(&wanted, &cache, PrepareOptions::new(&interrupted), building);

        let (mut designs, mut skipped) = (Vec::new(), Vec::new());
        for (program, result) in wanted.iter().zip(results) {
            match result {
                Ok(built) => designs.push(Design::of_program(program, &built)),
                Err(obstacle) => skipped.push(Skipped::from(&obstacle)),
            }
        }

        let firstbyte = std::env::current_exe().map_err(ExperimentError::machine)?;
        let design = [Design::ours(&firstbyte), Design::wc_alone()];
        designs.extend(design.into_iter().filter(|design| self.wants(&design.name)));
        designs.extend(self.own.iter().cloned());
        Ok((designs, skipped))
    }

    fn sweep(self, designs: Vec<Design>) -> Sweep {
        Sweep {
            counts: self.counts,
            sinks: self.sinks,
            designs,
            runs: self.runs,
            enough: self.enough,
            limit: self.timeout,
            folders: SinkFolders { memory: self.memory, disk: self.directory },
            seed: self.seed,
        }
    }
}

fn fill(document: &mut ThroughputDocument, sweep: &Sweep, swept: Swept) {
    document.partial = swept.interrupted || interrupt::interrupted().is_some();
    for cell in swept.cells {
        let null = cell.sink == Sink::Null;
        document.results.extend(row(sweep, &cell).summarised(!null));
    }
    document.wrong.extend(swept.wrong.into_iter().map(|wrong| wrong_output(sweep, wrong)));
    document.compare();
}

/// A row without its summary.
fn row(sweep: &Sweep, cell: &SweepCell) -> Throughput {
    let design = &sweep.designs[cell.design];
    Throughput {
        sink: cell.sink.name().to_owned(),
        sink_description: cell.sink.description(&sweep.folders),
        design: design.name.clone(),
        description: design.description.clone(),
        lines: cell.count,
        bytes: cell.printed.bytes,
        right: cell.printed.right,
        times_ns: cell.times.iter().map(|time| time.0).collect(),
        median_ns: 0.0,
        min_ns: 0.0,
        bytes_per_second: None,
        times_faster: None,
    }
}

fn wrong_output(sweep: &Sweep, wrong: Wrong) -> WrongOutput {
    let design = &sweep.designs[wrong.design];
    WrongOutput {
        design: design.name.clone(),
        description: design.description.clone(),
        literal: design.literal,
        sink: wrong.sink.name().to_owned(),
        lines: wrong.count,
        timed: wrong.timed,
        reason: wrong.reason,
    }
}
