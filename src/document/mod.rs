//! The versioned documents that firstbyte writes and reads. A document is read into the struct that wrote it. Those of
//! `doctor` and `inspect` are only written. The names of structs begin with the command that writes them; those without
//! such a name are of `bench`, or of several commands.

pub mod bench;
pub mod check;
pub mod claims;
pub mod compare;
pub mod conditions;
pub mod diff;
mod distribution;
pub mod doctor;
pub mod elf;
pub mod exposition;
pub mod floor;
mod head;
pub mod hyperfine;
pub mod inspect;
mod limits;
mod median_counts;
pub mod metrics;
pub mod named_span;
pub mod processor_time;
pub mod read;
pub mod residence;
pub mod series;
pub mod throughput;
pub mod trace;
pub mod tune;
mod user_code;
mod warning;
pub mod warnings;
pub mod watch;
pub mod watch_compare;

pub use bench::Document;

use firstbyte_measure::machine::Machine;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Installs firstbyte, in its source folder. No registry has it.
pub const INSTALL: &str = "cargo install --path . --locked";

/// The facts of a machine, as every document has them.
pub fn machine_facts(machine: &Machine) -> Value {
    serde_json::to_value(machine).unwrap_or_default()
}

/// The facts of this machine.
pub fn this_machine() -> Value {
    machine_facts(&Machine::examine())
}

/// The `kind` of a document: what its rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Measured programs: `bench`, `showdown`, and the measurements of `check`.
    Bench,
    /// Start-ups with every span: `trace`.
    Trace,
    /// The two start-ups that `diff` compares.
    Diff,
    /// What this machine charges: `floor`.
    Floor,
    /// Designs that print many lines: `throughput`.
    Throughput,
    /// Claims and their verdicts: `claims`.
    Claims,
    /// The bytes of an executable that firstbyte wrote: `elf`.
    Elf,
    /// Executables and what they will cost: `inspect`.
    Inspect,
    /// The instructions of a function: `inspect --disassemble`.
    Disassembly,
    /// The calls of `main`, for each way to compile it: `inspect --calls`.
    Calls,
    /// Programs and their budgets: `check`.
    Check,
    /// Programs in two files: `compare`.
    Compare,
    /// What this machine can do: `doctor`.
    Doctor,
    /// The programs that a command or a machine starts: `watch`.
    Watch,
    /// Other ways to start a program: `tune`.
    Tune,
}

impl Kind {
    /// In the order of their declaration.
    pub const ALL: [Kind; 15] = [
        Kind::Bench,
        Kind::Trace,
        Kind::Diff,
        Kind::Floor,
        Kind::Throughput,
        Kind::Claims,
        Kind::Elf,
        Kind::Inspect,
        Kind::Disassembly,
        Kind::Calls,
        Kind::Check,
        Kind::Compare,
        Kind::Doctor,
        Kind::Watch,
        Kind::Tune,
    ];

    /// As the document spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Bench => "bench",
            Kind::Trace => "trace",
            Kind::Diff => "diff",
            Kind::Floor => "floor",
            Kind::Throughput => "throughput",
            Kind::Claims => "claims",
            Kind::Elf => "elf",
            Kind::Inspect => "inspect",
            Kind::Disassembly => "disassembly",
            Kind::Calls => "calls",
            Kind::Check => "check",
            Kind::Compare => "compare",
            Kind::Doctor => "doctor",
            Kind::Watch => "watch",
            Kind::Tune => "tune",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found_by_its_place_and_written_by_its_name() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
