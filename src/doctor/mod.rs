//! What this machine can and cannot do, why, and the command that mends it.
//!
//! [`findings`] tries each thing, [`checks`] judges what came of it (pure), [`tools`] asks the corpus' toolchains,
//! and [`install`] brings what is missing. Nothing here prints.

pub mod checks;
pub mod findings;
pub mod install;
mod tools;

pub use checks::{Check, Group, Status};
pub use findings::{Failure, Findings};
pub use install::InstallPlan;

use crate::corpus::Corpus;
use firstbyte_measure::machine::Machine;
use serde::Serialize;

/// All that was found out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What this machine is.
    pub machine: Machine,
    /// What it can do: tracing first, toolchains last.
    pub results: Vec<Check>,
    /// What would bring the missing tools.
    pub install: InstallPlan,
}

/// Loads and attaches the bpf backend's programs, and lets go of them.
#[cfg(feature = "bpf")]
pub fn try_bpf() -> Result<(), String> {
    use firstbyte_measure::tracer::bpf::{BpfPhases, DEFAULT_RING};
    let tried = BpfPhases::load(DEFAULT_RING).and_then(|mut tracer| tracer.attach());
    tried.map_err(|error| error.to_string())
}

/// Without the feature `bpf` there is nothing to load.
#[cfg(not(feature = "bpf"))]
pub fn try_bpf() -> Result<(), String> {
    Err("this firstbyte was built without the feature `bpf`\nhelp: cargo install firstbyte".to_owned())
}

/// Tries everything once. `bpf` is [`try_bpf`], or stands in for it; its error may end in a `help:` line.
pub fn examine(corpus: &Corpus, bpf: &dyn Fn() -> Result<(), String>) -> Report {
    let machine = Machine::examine();
    let mut results = checks::judge(&Findings::gather(bpf), &machine);
    results.extend(tools::checks(corpus));
    Report { machine, results, install: InstallPlan::for_corpus(corpus) }
}

impl Report {
    /// The check of this name.
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.results.iter().find(|check| check.name == name)
    }
}
