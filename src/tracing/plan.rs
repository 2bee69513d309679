//! How the runs of a trace are made.

use crate::analysis::profile::By;
use crate::analysis::runs::Along;
use crate::bench::RunPlan;
use crate::document::bench::ColdMethod;
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::tracer::event::WantedContents;

/// How the runs are made, and what is explained of them.
#[derive(Clone, Debug)]
pub struct TracePlan {
    /// The number of runs; `None`: as many as make sense.
    pub count: Option<u32>,
    /// One run of each kind is enough.
    pub quick: bool,
    /// Make untraced runs, too, which show the observer overhead.
    pub overhead: bool,
    pub beside: Beside,
    pub along: Along,
    /// What the program's own code is divided by.
    pub by: By,
    /// The name of the part of a run that is explained; `None`: all of it.
    pub mark: Option<String>,
    pub backend: BackendChoice,
    /// Which contents of buffers are recorded.
    pub contents: WantedContents,
    /// How each run is made.
    pub each_run: RunPlan,
    /// How the page cache is made cold before each traced run; `None`: it stays warm.
    pub cold: Option<ColdMethod>,
    /// The size of the BPF ring buffer in bytes.
    pub ring: Option<u32>,
    /// Seed of the order in which two commands alternate.
    pub seed: u64,
}

/// Which runs are made beside the traced ones.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each adds or leaves out a kind of run")]
pub struct Beside {
    /// Sampled runs, which name the functions of user code.
    pub samples: bool,
    /// One run in which language runtimes report what they load.
    pub reports: bool,
    /// One run that counts CPUID instructions.
    pub cpuid: bool,
    /// Runs of the smallest program, which show what observing costs.
    pub costs: bool,
}
