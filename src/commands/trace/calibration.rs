//! What observing costs by itself, measured on programs of our own.

use super::{Explained, explain};
use crate::account::Summary;
use crate::account::attribution::Kind;
use crate::cli::trace::Runs;
use crate::commands::{CommandError, Exit};
use crate::floor::plain_elf;
use crate::stats;
use firstbyte_measure::launch::Command;
use firstbyte_measure::tracer::full::{EventCosts, FullTracer};

/// Traced runs of the smallest executable.
const RUNS: u32 = 24;

/// What a tracee pays for being observed, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Its one system call and its one page fault.
    pub(super) each: EventCosts,
    /// Everything that a start has besides these: exec, exit, what the scheduler does.
    pub(super) start: f64,
}

impl Costs {
    /// Of the main thread of such a run.
    pub(super) fn of(&self, summary: &Summary) -> f64 {
        self.start + of_events(self.each, summary)
    }
}

fn of_events(each: EventCosts, summary: &Summary) -> f64 {
    let count = |wanted: Kind| {
        let place = Kind::ALL.iter().position(|kind| *kind == wanted).unwrap_or_default();
        summary.kinds[place].1
    };
    count(Kind::Syscall) * each.syscall + count(Kind::Fault) * each.fault
}

/// The costs; `None` where this backend cannot tell them.
pub(super) fn calibrate(runs: &Runs, tracer: &mut FullTracer) -> Result<Option<Costs>, CommandError> {
    let Some(each) = tracer.event_costs().map_err(CommandError::unable)? else { return Ok(None) };
    // without the smallest executable a start is said to cost what its events do
    let start = smallest(runs, tracer)?.map_or(0.0, |smallest| {
        let extra = |block: &[f64; 2]| block[0] - block[1];
        let extra: Vec<f64> = smallest.observed.blocks.iter().map(extra).collect();
        let median = stats::quantile::sorted(&extra).and_then(|sorted| stats::median(&sorted));
        (median.unwrap_or(0.0) - of_events(each, &smallest.summary)).max(0.0)
    });
    Ok(Some(Costs { each, start }))
}

fn smallest(runs: &Runs, tracer: &mut FullTracer) -> Result<Option<Explained>, CommandError> {
    let Ok(folder) = tempfile::tempdir() else { return Ok(None) };
    let Some(path) = plain_elf(folder.path()) else { return Ok(None) };
    let command = Command::new(&[path]).map_err(CommandError::program)?;
    let runs = Runs { count: Some(RUNS), ..runs.clone() };
    match explain(command, &runs, tracer) {
        Err(error) if error.exit == Exit::Interrupted => Err(error),
        // a folder from which nothing may be executed
        explained => Ok(explained.ok()),
    }
}
