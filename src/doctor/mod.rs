//! What this machine can and cannot do, why, and the command that fixes it.
//!
//! [`probes`] tries everything, [`checks`] judges the answers (pure), [`tools`] asks the toolchains of the corpus, and
//! [`install`] installs what is missing, and [`groups`] says what all programs lack. Nothing here prints.

mod apt;
pub mod checks;
pub mod groups;
pub mod install;
pub mod probes;
mod tools;

use crate::corpus::Corpus;
use crate::document::Kind;
use crate::document::doctor::DoctorReport;
use firstbyte_measure::machine::Machine;
use probes::Probes;

/// Loads and attaches the programs of the bpf backend, those of phases and those of `trace`, and detaches them again.
/// Returns how this kernel makes them observe differently from a current one.
#[cfg(feature = "bpf")]
pub fn try_bpf() -> Result<Vec<&'static str>, String> {
    use firstbyte_measure::tracer::bpf::{BpfFull, BpfPhases, DEFAULT_RING, LARGE_RING};
    let phases = BpfPhases::load(DEFAULT_RING).and_then(|mut tracer| tracer.attach());
    phases.map_err(|error| error.to_string())?;
    let full = BpfFull::load(LARGE_RING).and_then(|mut tracer| tracer.attach().map(|()| tracer.remarks()));
    full.map_err(|error| error.to_string())
}

/// Without the feature `bpf` there is nothing to load.
#[cfg(not(feature = "bpf"))]
pub fn try_bpf() -> Result<Vec<&'static str>, String> {
    let help = crate::document::INSTALL;
    Err(format!(
        "this firstbyte was built without the feature `bpf`\nhelp: in firstbyte's source folder: {help}"
    ))
}

/// Tries everything once. `bpf` is [`try_bpf`] or replaces it; its error may end with a `help:` line.
pub fn examine(corpus: &Corpus, bpf: &dyn Fn() -> Result<Vec<&'static str>, String>) -> DoctorReport {
    let machine = Machine::examine();
    let mut results = checks::judge(&Probes::gather(bpf), &machine);
    results.extend(tools::checks(corpus));
    DoctorReport { kind: Kind::Doctor, machine, results, install: install::plan_for_corpus(corpus) }
}
