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
use crate::machine::Machine;
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

/// Tries everything once. `bpf` loads and attaches a program, or says in one line why it cannot.
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
