//! The document of `firstbyte floor`: what this machine charges.

mod costs;
mod cpu_scaling;
mod figure;
mod prints;
mod waterfall;

pub use costs::{Calibration, Cost};
pub use cpu_scaling::{CpuScaling, Point};
pub use figure::{Figure, Histogram, NOISY, Single};
pub use prints::{Outside, Print};
pub use waterfall::{Height, Layer, Waterfall, WaterfallStep};

use super::Kind;
use super::bench::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The results of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// `firstbyte/1`.
    pub schema: String,
    /// [`Kind::Floor`].
    #[serde(default = "Floor::kind")]
    pub kind: Kind,
    pub tool: Tool,
    pub machine: Value,
    /// The invocation was interrupted, so results are missing.
    #[serde(default)]
    pub partial: bool,
    /// The processor that everything ran on; `null` for a sweep over processors.
    pub cpu: Option<usize>,
    /// The cost of the clock and of the loop, which is subtracted from all figures.
    pub overhead: BatchOverhead,
    pub results: Vec<Figure>,
    pub missing: Vec<Missing>,
    /// The first and the hundredth print, one entry per program.
    #[serde(default)]
    pub prints: Vec<Print>,
    /// The waterfall of this machine, or of the command that was given.
    pub waterfalls: Vec<Waterfall>,
    /// Time to the first byte by number of processors, one entry per program.
    #[serde(default)]
    pub sweeps: Vec<CpuScaling>,
    /// The costs that are kept for estimates, from this invocation and earlier ones.
    #[serde(default)]
    pub calibration: Option<Calibration>,
}

impl Floor {
    fn kind() -> Kind {
        Kind::Floor
    }

    /// Every figure: the results, and those of the prints.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let prints = self.prints.iter().flat_map(|print| {
            let outside = print.outside.iter().flat_map(|outside| [&outside.first, &outside.hundredth]);
            [&print.first, &print.hundredth].into_iter().chain(outside)
        });

        self.results.iter().chain(prints)
    }
}

/// The subject of a figure. `--only` takes these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// System calls and clocks.
    Syscalls,
    /// Procedure calls, threads and processes.
    Processes,
    /// Page faults, libraries and relocations.
    Faults,
    /// Shell builtins.
    Shells,
    /// The first and the hundredth print of each language.
    Prints,
    /// The layers between a shell and a raw system call.
    Waterfall,
}

impl Group {
    /// All groups, in display order.
    pub const ALL: [Group; 6] =
        [Group::Syscalls, Group::Processes, Group::Faults, Group::Shells, Group::Prints, Group::Waterfall];

    /// The name that `--only` takes.
    pub fn name(self) -> &'static str {
        match self {
            Group::Syscalls => "syscalls",
            Group::Processes => "processes",
            Group::Faults => "faults",
            Group::Shells => "shells",
            Group::Prints => "prints",
            Group::Waterfall => "waterfall",
        }
    }
}

/// The cost of measuring itself, which is subtracted from every batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchOverhead {
    /// Median of two clock readings with nothing between them, in nanoseconds.
    pub timer: f64,
    /// Median of one turn of the empty loop, in nanoseconds.
    pub turn: f64,
    /// The clock's resolution, in nanoseconds.
    pub step: u64,
    /// Median of an empty timed region after the timer's cost is subtracted, in nanoseconds.
    pub empty: f64,
}

/// A figure that could not be measured on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub group: Group,
    /// The name that the figure would have had.
    pub name: String,
    /// One lower-case line.
    pub reason: String,
}
