//! What the runs of one command deliver to its analysis. [`crate::tracing`] makes these runs.

use crate::bench::{Accepted, BothKinds, Series};
use crate::document::bench::{ColdRuns, Warning};
use crate::stats::median_of;
use firstbyte_measure::launch::rights::Rights;
use firstbyte_measure::launch::{ExitStatus, KnownEnvironment, Until};
use firstbyte_measure::sampler::Stream;
use firstbyte_measure::timeline::region::Region;
use firstbyte_measure::tracer::{Backend, Recording};
use firstbyte_measure::units::Nanos;
use std::time::SystemTime;

/// What the account follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Along {
    /// The threads that work while the others wait.
    #[default]
    CriticalPath,
    /// The tracee's main thread, waiting or not.
    MainThread,
}

/// The runs of one command.
#[derive(Debug, Default)]
pub struct ObservedRuns {
    /// The traced runs that count.
    pub recordings: Vec<Recording>,
    /// The round of each of these: two commands that alternate run once each in every round.
    pub rounds: Vec<u32>,
    /// Wall times of the traced runs, from the launch until they were reaped, in nanoseconds.
    pub traced: Vec<f64>,
    /// The same of the untraced runs.
    pub untraced: Vec<f64>,
    /// Median wall times of each block.
    pub blocks: Vec<BothKinds<f64>>,
    /// Median processor times of each block.
    pub processor_blocks: Vec<BothKinds<f64>>,
    /// The variables that each run was started with.
    pub environment: KnownEnvironment,
    /// Why traced runs do not count.
    pub rejected: Vec<String>,
    /// The user interrupted it before all runs were made.
    pub interrupted: bool,
    /// Their user code, where the observation hides it.
    pub user: Option<SampledUser>,
    /// How the first run, which was untraced, ended.
    pub untraced_exit: Option<ExitStatus>,
    /// The rights that the program's file gives it, and that a run under ptrace does not get.
    pub rights: Option<Rights>,
    /// The use of the processors by others meanwhile.
    pub interference: Vec<Warning>,
    /// How the page cache was made cold; `None`: it was warm.
    pub cold: Option<ColdRuns>,
    /// How many runs of it were made.
    pub executions: u64,
    /// The observer overhead was to be measured.
    pub overhead_wanted: bool,
    /// How each run must end.
    pub accepted: Accepted,
    /// What ended each run before the program exited.
    pub until: Option<Until>,
    /// The region whose time is wanted.
    pub region: Option<Region>,
    /// The name of the part that is to be explained; `None`: all.
    pub mark: Option<String>,
}

impl From<Series> for ObservedRuns {
    fn from(series: Series) -> ObservedRuns {
        let blocks = BothKinds::medians(&series.blocks());
        let processor_blocks = BothKinds::medians(&series.processor_blocks());
        let (rounds, recordings) = series.recordings.into_iter().unzip();
        ObservedRuns {
            blocks,
            processor_blocks,
            traced: series.samples.iter().map(|sample| sample.wall.as_f64()).collect(),
            untraced: series.untraced.iter().map(|run| run.wall.as_f64()).collect(),
            rejected: series.rejected.into_iter().map(|rejected| rejected.reason).collect(),
            untraced_exit: series.untraced_exit,
            cold: series.cold,
            rounds,
            recordings,
            ..ObservedRuns::default()
        }
    }
}

/// User code of an untraced run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledUser {
    /// Of all its threads and processes, in nanoseconds.
    pub time: f64,
    /// How many samples say so.
    pub samples: u64,
    /// How much of the time one of them stands for, in nanoseconds.
    pub each: f64,
    /// The processor time between two of them in a run, in nanoseconds.
    pub period: f64,
    /// The runs that were made for it.
    pub executions: u64,
}

/// Where stops of ptrace make runs this many times as long, what they leave between them does not say how it divides into system
/// calls and user code.
const HIDING_STOPS: f64 = 3.0;
/// The same for events of bpf, whose costs are calibrated.
const HIDING_EVENTS: f64 = 1.5;

impl ObservedRuns {
    /// Whether the runs were stopped by ptrace.
    pub fn by_ptrace(&self) -> bool {
        self.recordings.iter().any(|run| run.backend == Backend::Ptrace)
    }

    /// The wall time of an untraced run in nanoseconds, where the observation hides how much of it is user code. The untraced
    /// runs of a cold program are warm, and do not say that.
    pub fn hidden_wall(&self) -> Option<f64> {
        let hiding = if self.by_ptrace() { HIDING_STOPS } else { HIDING_EVENTS };
        let (traced, untraced) = median_of(&self.traced).zip(median_of(&self.untraced))?;
        (self.cold.is_none() && traced > hiding * untraced).then_some(untraced)
    }
}

/// What the traced runs say of one run.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedCost {
    /// User code of all threads, in nanoseconds.
    pub user: f64,
    /// From the launch until it was reaped, in nanoseconds.
    pub wall: f64,
    /// It has one process with one thread.
    pub alone: bool,
}

/// How a command's user code is to be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingWish {
    /// No language frames can be read.
    Native,
    /// What is asked for, language frames or marks, is known if the program is stopped meanwhile.
    Stopped,
    /// It would be, but the program may not be stopped for this reason, a clause.
    Unstopped(&'static str),
}

/// The sampled runs of one command.
#[derive(Clone, Debug)]
pub struct Sampled {
    pub streams: Vec<Stream>,
    /// Median wall times of each block. Its traced runs are the sampled ones.
    pub blocks: Vec<BothKinds<f64>>,
    /// Before the first of these runs.
    pub since: SystemTime,
    /// How many runs were made, sampled or not.
    pub executions: u64,
    /// Why the frames of an interpreter were not read, a clause; `None`: they were, or there is no interpreter.
    pub unstopped: Option<String>,
}

/// The language runtimes that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AskedRuntime {
    Python,
    Node,
    Java,
    Go,
    Ruby,
    Perl,
    Bash,
    Zsh,
}

impl AskedRuntime {
    pub fn name(self) -> &'static str {
        match self {
            AskedRuntime::Python => "Python",
            AskedRuntime::Node => "Node",
            AskedRuntime::Java => "Java",
            AskedRuntime::Go => "Go",
            AskedRuntime::Ruby => "Ruby",
            AskedRuntime::Perl => "Perl",
            AskedRuntime::Bash => "bash",
            AskedRuntime::Zsh => "zsh",
        }
    }
}

/// What the runtimes reported.
#[derive(Clone, Debug)]
pub struct Reports {
    /// The report of each runtime, as it wrote it. One that reported nothing is missing.
    pub texts: Vec<(AskedRuntime, String)>,
    /// The run with the reports, and the one without.
    pub runs: [RunTimes; 2],
}

/// How long an untraced run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// From the launch until it was reaped.
    pub wall: Nanos,
    /// User and system time of all of its threads, and of the processes that it waited for.
    pub processor: Nanos,
}
