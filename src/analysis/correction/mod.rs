//! Recordings without the time that observing them took.
//!
//! Every observed event costs its thread time, so the thread *lags* behind where it would be unobserved. [`lags`] follows the
//! lag of each thread through a recording and moves every event to where it would have been: costs are taken off where they
//! were spent, waits for a disk or a timer keep their length, and a thread that another one wakes takes over that one's lag.
//! [`costs`] knows what each kind of event costs, [`stops`] what stops of ptrace took where, [`fit`] how much all of that is in
//! these runs, and [`wakes`] who woke whom.

mod costs;
mod fit;
mod lags;
mod points;
mod stops;
#[cfg(test)]
mod tests;
mod wakes;

pub use costs::ObserverCosts;

use super::runs::ObservedRuns;
use costs::{GivingWay, PointCosts};
use firstbyte_measure::tracer::{EventCosts, Recording};

/// Takes the time of the observation off the recordings of one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction(Costs);

#[derive(Clone, Debug, PartialEq)]
enum Costs {
    /// Events cost the same in all runs.
    Alike(PointCosts),
    /// What they cost in each run.
    EachRun(Vec<PointCosts>),
}

impl Correction {
    /// From the calibrated costs, and from how much longer the traced runs took than the untraced ones beside them. `None` if
    /// neither is known.
    pub fn of(observed: &ObservedRuns, calibrated: Option<ObserverCosts>) -> Option<Correction> {
        if observed.by_ptrace() {
            return fit::of_stops(observed).map(|runs| Correction(Costs::EachRun(runs)));
        }
        let costs = calibrated?;
        let scale = fit::scale(observed, &costs);
        scale.map(|scale| Correction(Costs::Alike(fit::with_user_code(observed, costs.scaled(scale)))))
    }

    /// Whether most runs took so long that timeouts expired which would not have without the stops.
    pub fn has_moved_timeouts(&self) -> bool {
        let Costs::EachRun(runs) = &self.0 else { return false };
        let moved = runs.iter().filter(|costs| costs.pace.giving_way == GivingWay::Timeouts).count();
        2 * moved > runs.len()
    }

    fn in_run(&self, run: usize) -> Option<&PointCosts> {
        match &self.0 {
            Costs::Alike(costs) => Some(costs),
            Costs::EachRun(runs) => runs.get(run),
        }
    }

    /// By the calibrated costs of single events alone.
    pub fn calibrated(each: EventCosts) -> Correction {
        Correction(Costs::Alike(ObserverCosts::new(each, None).scaled(1.0)))
    }

    /// Calls `then` with the recording of this run as it would be if observing it cost nothing. Afterwards it is as it was
    /// recorded: a copy would need as much memory again.
    pub fn applied<T>(&self, run: usize, recording: &mut Recording, then: impl FnOnce(&Recording) -> T) -> T {
        match self.in_run(run) {
            Some(costs) => lags::Lags::of(recording).corrected(recording, costs, then),
            None => then(recording),
        }
    }
}
