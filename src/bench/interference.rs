//! The use of the processors by others during a measurement: by other programs, and by the host's other guests.
//!
//! This is measured over the whole time. The load average stays high after a build has ended, and does not show programs
//! that start later. It is used only if the time is too short to measure.

use crate::document::bench::Warning;
use crate::document::warnings;
use firstbyte_measure::launch::own_processor_time;
use firstbyte_measure::machine::ProcessorTime;
use firstbyte_measure::units::Nanos;
use serde_json::Value;

/// A larger share of the time than this, taken by other guests, is reported.
const STOLEN: f64 = 0.01;

/// More processors than this, used by other programs on average, are reported. Some quiet services use a twentieth.
const OTHERS: f64 = 0.25;

/// For times shorter than this number of ticks (a hundred per second) the kernel's figures are too coarse.
const MIN_TICKS: u64 = 50;

/// The processor time that had been used when the measuring began.
#[derive(Clone, Copy, Debug)]
pub struct InterferenceWatch {
    processors: Option<ProcessorTime>,
    ours: Nanos,
}

impl InterferenceWatch {
    pub fn begin() -> InterferenceWatch {
        InterferenceWatch { processors: ProcessorTime::now(), ours: own_processor_time() }
    }

    /// The processor time used since the beginning.
    pub fn end(self) -> Interference {
        Interference {
            spent: self.processors.zip(ProcessorTime::now()).map(|(before, now)| now.since(before)),
            ours: own_processor_time().since(self.ours).unwrap_or_default(),
        }
    }
}

/// The processors' time while something was measured.
#[derive(Clone, Copy, Debug)]
pub struct Interference {
    /// The time of all processors, used by all programs.
    spent: Option<ProcessorTime>,
    /// The time used by firstbyte and the programs that it measured.
    ours: Nanos,
}

impl Interference {
    /// Warnings for the reader; `machine` as in a document.
    pub fn warnings(self, machine: &Value) -> Vec<Warning> {
        let measurable = self.spent.filter(|spent| spent.all >= MIN_TICKS * spent.processors as u64);
        let others = match measurable {
            Some(spent) => others(spent, self.ours, rustix::param::clock_ticks_per_second()),
            None => warnings::load(machine),
        };
        others.into_iter().chain(self.spent.and_then(stolen)).collect()
    }
}

fn others(spent: ProcessorTime, ours: Nanos, ticks_a_second: u64) -> Option<Warning> {
    let own_ticks = ours.as_f64() * ticks_a_second as f64 / 1e9;
    let processors = spent.processors;
    let others = (spent.busy as f64 - own_ticks) / spent.all.max(1) as f64 * processors as f64;
    (others > OTHERS).then(|| {
        Warning::serious(format!("other programs used {others:.1} of {processors} processors"))
            .with_help("close them, and measure again")
    })
}

fn stolen(spent: ProcessorTime) -> Option<Warning> {
    let share = spent.stolen as f64 / spent.all.max(1) as f64;
    let message =
        || format!("the host gave {:.0} % of the processors' time to other guests meanwhile", share * 100.0);
    (share > STOLEN)
        .then(|| Warning::serious(message()).with_help("measure again later, or on another machine"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds on two processors.
    fn spent(busy: u64, stolen: u64) -> ProcessorTime {
        ProcessorTime { processors: 2, busy, stolen, all: 2000 }
    }

    #[test]
    fn our_own_time_is_no_interference() {
        let message =
            |busy| others(spent(busy, 0), Nanos(12_000_000_000), 100).map(|warning| warning.message);
        assert_eq!(message(1240), None);
        assert_eq!(message(1600).unwrap(), "other programs used 0.4 of 2 processors");
        assert_eq!(message(1000), None, "ticks may know of less than we used");
    }

    #[test]
    fn stolen_time_is_reported_and_for_short_times_the_load_average() {
        let message = |ticks| stolen(spent(0, ticks)).map(|warning| warning.message);
        assert_eq!(message(20), None);
        let gave = "the host gave 2 % of the processors' time to other guests meanwhile";
        assert_eq!(message(40).unwrap(), gave);
        let busy = serde_json::json!({"load_average": [1.5, 0, 0], "cores": 2});
        let warnings = InterferenceWatch::begin().end().warnings(&busy);
        assert!(warnings[0].message.contains("1.50"), "{warnings:?}");
    }
}
