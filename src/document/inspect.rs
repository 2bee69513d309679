//! The documents of `firstbyte inspect`: a file and its estimate, a function, or the ways to compile a program.

use super::Kind;
use super::bench::{SCHEMA, ToolVersion};
use crate::inspect::Inspection;
use crate::inspect::compilations::Compilation;
use crate::inspect::disassembly::AssemblyLine;
use firstbyte_measure::machine::Machine;
use serde::Serialize;

/// `kind` says what the results are.
#[derive(Debug, Serialize)]
pub struct InspectDocument {
    pub schema: &'static str,
    pub kind: Kind,
    pub tool: ToolVersion,
    pub machine: Machine,
    pub results: InspectResults,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum InspectResults {
    /// [`Kind::Inspect`].
    File(Vec<InspectedFile>),
    /// [`Kind::Disassembly`].
    Function(Vec<AssemblyLine>),
    /// [`Kind::Calls`].
    Compilations(Vec<Compilation>),
}

/// A file, and what its start should cost; `None` if its start cannot be predicted, or nobody asked.
#[derive(Debug, Serialize)]
pub struct InspectedFile {
    pub file: Inspection,
    pub estimate: Option<StartCost>,
}

/// The cost of a start in this machine's units.
#[derive(Debug, Serialize)]
pub struct StartCost {
    /// Where the units come from: one line.
    pub source: String,
    /// Empty if nothing could be measured.
    pub costs: Vec<UnitCost>,
}

/// One kind of event, its number and its cost.
#[derive(Debug, Serialize)]
pub struct UnitCost {
    pub name: &'static str,
    pub count: u64,
    /// Nanoseconds each.
    pub ns: f64,
}

impl InspectDocument {
    pub fn new(machine: Machine, results: InspectResults) -> InspectDocument {
        let kind = match results {
            InspectResults::File(_) => Kind::Inspect,
            InspectResults::Function(_) => Kind::Disassembly,
            InspectResults::Compilations(_) => Kind::Calls,
        };
        InspectDocument { schema: SCHEMA, kind, tool: ToolVersion::ours(), machine, results }
    }
}
