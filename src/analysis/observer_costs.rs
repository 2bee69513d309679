//! What observing costs by itself, measured on the smallest start.

use super::Summary;
use super::attribution::WorkKind;
use crate::analysis::runs::ObservedRuns;
use crate::stats::median_of;
use firstbyte_measure::tracer::EventCosts;

/// What a tracee pays for being observed, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct ObserverCosts {
    /// One system call and one page fault.
    pub each: EventCosts,
    /// Everything else in a start: exec, exit, and the scheduler.
    pub start: f64,
}

impl ObserverCosts {
    /// From the runs of the smallest start. Without them, only the events of a start are known to cost something.
    pub fn new(each: EventCosts, smallest: Option<(&ObservedRuns, &Summary)>) -> ObserverCosts {
        let start = smallest.map_or(0.0, |(observed, summary)| {
            let extra: Vec<f64> = observed.blocks.iter().map(|block| block.traced - block.untraced).collect();
            (median_of(&extra).unwrap_or(0.0) - of_events(each, summary)).max(0.0)
        });
        ObserverCosts { each, start }
    }

    /// The costs for the main thread of such a run.
    pub fn of(&self, summary: &Summary) -> f64 {
        self.start + of_events(self.each, summary)
    }
}

fn of_events(each: EventCosts, summary: &Summary) -> f64 {
    let count = |wanted: WorkKind| {
        let place = WorkKind::ALL.iter().position(|kind| *kind == wanted).unwrap_or_default();
        summary.kinds[place].1
    };
    count(WorkKind::Syscall) * each.syscall + count(WorkKind::Fault) * each.fault
}
