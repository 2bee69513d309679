//! The one experiment: every command that runs programs, to time or to explain them, makes one of these.
//!
//! Programs and a plan go in, series of samples come out. A [`Progress`] receives the progress.

use super::campaign::{Campaign, CampaignEnd, Progress};
use super::error::ExperimentError;
use super::interference::{Interference, InterferenceWatch};
use super::prepared::{Prepared, RunHooks};
use super::processor_time::{self, ProcessorRuns};
use super::runner::{Runner, Tracee, Tracees};
use super::sample::Series;
use super::schedule::Aim;
use super::{cold_runs, counting};
use crate::document::bench::ColdMethod;
use firstbyte_measure::counters::CountersError;
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::page_cache;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::{Backend, Tracer};
use std::path::PathBuf;
use std::time::Duration;

/// One program of an experiment.
#[derive(Debug)]
pub struct ExperimentEntry {
    /// Its name and the expected end. It has no samples yet.
    pub series: Series,
    pub tracee: Tracee,
    pub hooks: RunHooks,
    /// Its file, which is evicted and read back first, so that all files are cached in the same way.
    pub reread: Option<PathBuf>,
}

/// Which counting runs follow the timed ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting {
    /// Runs of each program; 0: none.
    pub runs: u32,
    /// The maximum time for those of one program; `None`: as long as its timed runs took.
    pub time: Option<Duration>,
    /// Let the processor count in as many runs.
    pub by_processor: bool,
    /// Tell user code from the kernel's work, in runs under the tracer of every system call.
    pub processor: Option<ProcessorRuns>,
    /// Look for files of the machine that slow each program's start, in one more run of each.
    pub influences: bool,
}

/// Programs, and how they are measured.
#[derive(Debug)]
pub struct Experiment {
    pub entries: Vec<ExperimentEntry>,
    pub campaign: Campaign,
    /// How the page cache is made cold before each run; `None`: it stays warm.
    pub cold: Option<ColdMethod>,
    /// Find out which part of each program's files is in memory before a run.
    pub residence: bool,
    /// Give each run an environment of another size.
    pub env_offset: bool,
    pub counting: Counting,
}

/// The results of an experiment.
#[derive(Debug)]
pub struct Measured {
    /// One for each program, in their order.
    pub series: Vec<Series>,
    pub ending: CampaignEnd,
    /// The use of the processors by others while the runs were made.
    pub interference: Interference,
    /// How many runs were made of all programs: those that count, and all others.
    pub executions: u64,
    /// Why the processor counted nothing.
    pub no_counters: Option<CountersError>,
}

impl Measured {
    /// Fewer runs than planned were made.
    pub fn is_partial(&self) -> bool {
        self.ending.interrupted || self.ending.broken.is_some() || interrupt::interrupted().is_some()
    }
}

impl Experiment {
    /// Makes the runs. An interruption is not an error: the finished results are returned.
    pub fn run(
        self,
        observer: &mut dyn Tracer,
        progress: &mut dyn Progress,
    ) -> Result<Measured, ExperimentError> {
        // What is read from a disk outweighs the cost of a tracer, and the pipe backend attaches nothing.
        let has_overhead = self.cold.is_none() && observer.has_overhead();
        let aim = match self.campaign.aim {
            Aim::Explain if observer.backend().stops_tracee() => Aim::ExplainStopped,
            aim => aim,
        };
        let campaign = Campaign { aim, overhead: self.campaign.overhead && has_overhead, ..self.campaign };
        let offsets = self.env_offset.then_some(campaign.seed);
        let by_bpf = observer.backend() == Backend::Bpf;
        let (mut series, mut runner) = prepared(self.entries, campaign.aim, observer, offsets);
        if let Some(method) = self.cold {
            let accepted: Vec<_> = series.iter().map(|series| series.accepted).collect();
            let cold = cold_runs::begin(&mut runner, method, &accepted)?;
            series.iter_mut().zip(cold).for_each(|(series, cold)| series.cold = Some(cold));
        }
        if self.residence {
            runner.look_at_files(&series);
        }

        progress.began();
        let watch = InterferenceWatch::begin();
        let ending = campaign.run(&mut series, &mut runner, progress)?;
        let interference = watch.end();

        let no_counters = count(self.counting, &ending, &mut series, &mut runner, progress);
        if let Some(wanted) =
            self.counting.processor.filter(|_| !ending.interrupted && ending.broken.is_none())
        {
            processor_time::trace(&mut runner, &mut series, (wanted, by_bpf), campaign.seed);
        }
        progress.ended();
        // the same tracer may be used again
        let detached = runner.switch(false);
        if campaign.aim.explains() {
            detached?;
        }
        let resident = (0..series.len()).map(|program| runner.resident(program));
        series.iter_mut().zip(resident).for_each(|(series, resident)| series.resident = resident);
        let executions = runner.executions();
        Ok(Measured { series, ending, interference, executions, no_counters })
    }
}

fn prepared(
    entries: Vec<ExperimentEntry>,
    aim: Aim,
    observer: &mut dyn Tracer,
    offsets: Option<u64>,
) -> (Vec<Series>, Prepared<'_>) {
    let (mut series, mut tracees, mut hooks) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        if let Some(file) = &entry.reread {
            // A file that cannot be evicted is measured as it is.
            let _ = page_cache::evict_and_reread(file);
        }
        series.push(entry.series);
        tracees.push(entry.tracee);
        hooks.push(entry.hooks);
    }

    // Traced and untraced runs must wait in the same way. bpf does not watch the pipe, so its untraced runs do not either;
    // nor do those beside a full trace. A sampler makes them itself, without its samples.
    let untraced = match (aim, observer.backend()) {
        (Aim::Sample, _) => None,
        (Aim::Explain | Aim::ExplainStopped, _) | (_, Backend::Bpf) => Some(PipeTracer::blind()),
        _ => Some(PipeTracer::new()),
    };
    (series, Prepared::new(Tracees::new(tracees, observer, untraced), hooks, offsets))
}

/// The counting runs, if the timed ones went well. Returns why the processor counted nothing.
fn count(
    counting: Counting,
    ending: &CampaignEnd,
    series: &mut [Series],
    runner: &mut Prepared,
    progress: &mut dyn Progress,
) -> Option<CountersError> {
    let Counting { runs, time, by_processor, influences, processor: _ } = counting;
    if runs == 0 || ending.broken.is_some() {
        return None;
    }

    if !ending.interrupted {
        counting::count(runner, series, (runs, time), progress);
        if influences {
            counting::find_influences(runner, series);
        }
    }

    let is_wanted = by_processor && interrupt::interrupted().is_none();
    is_wanted.then(|| counting::count_by_processor(runner, series, runs).err()).flatten()
}
