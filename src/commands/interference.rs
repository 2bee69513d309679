//! Who else used the processors while something was measured: other programs, and the host's other guests.
//!
//! Measured over the whole time, not read off the load average: that is high after a build which has ended, and knows
//! nothing of what begins later. Only where the time is too short to be measured, it must do.

use crate::document::bench::Warning;
use crate::document::warnings;
use firstbyte_measure::launch::own_processor_time;
use firstbyte_measure::machine::ProcessorTime;
use firstbyte_measure::units::Nanos;
use serde_json::Value;

/// More of the time than this, taken by other guests, is worth a word.
const STOLEN: f64 = 0.01;

/// More processors than this, used by other programs on average, are worth a word: some quiet services use a twentieth.
const OTHERS: f64 = 0.25;

/// Of shorter times the kernel's ticks (a hundred a second) say little.
const SHORTEST_TICKS: u64 = 50;

/// What had been spent when the measuring began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    processors: Option<ProcessorTime>,
    own: Nanos,
}

impl Watch {
    /// From now on.
    pub(super) fn begin() -> Watch {
        Watch { processors: ProcessorTime::now(), own: own_processor_time() }
    }

    /// What came between the beginning and now that a reader should know of; `machine` as in a document.
    pub(super) fn warnings(self, machine: &Value) -> Vec<Warning> {
        let own = own_processor_time().since(self.own).unwrap_or_default();
        let spent = self.processors.zip(ProcessorTime::now()).map(|(before, now)| now.since(before));
        let measurable = spent.filter(|spent| spent.all >= SHORTEST_TICKS * spent.processors as u64);
        let others = match measurable {
            Some(spent) => others(spent, own, rustix::param::clock_ticks_per_second()),
            None => warnings::load(machine),
        };
        others.into_iter().chain(spent.and_then(stolen)).collect()
    }
}

fn others(spent: ProcessorTime, own: Nanos, ticks_a_second: u64) -> Option<Warning> {
    let own_ticks = own.as_f64() * ticks_a_second as f64 / 1e9;
    let processors = spent.processors;
    let others = (spent.busy as f64 - own_ticks) / spent.all.max(1) as f64 * processors as f64;
    (others > OTHERS).then(|| Warning {
        name: None,
        message: format!("other programs used {others:.1} of {processors} processors meanwhile"),
        help: Some("close them (`top` shows which they are), and measure again".to_owned()),
    })
}

fn stolen(spent: ProcessorTime) -> Option<Warning> {
    let share = spent.stolen as f64 / spent.all.max(1) as f64;
    (share > STOLEN).then(|| Warning {
        name: None,
        message: format!(
            "the host gave {:.0}% of the processors' time to other guests meanwhile",
            share * 100.0
        ),
        help: Some("measure again later, or on another machine".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds of two processors.
    fn spent(busy: u64, stolen: u64) -> ProcessorTime {
        ProcessorTime { processors: 2, busy, stolen, all: 2000 }
    }

    #[test]
    fn what_we_used_ourselves_is_no_interference() {
        let told = |busy| others(spent(busy, 0), Nanos(12_000_000_000), 100).map(|warning| warning.message);
        assert_eq!(told(1240), None);
        assert_eq!(told(1600).unwrap(), "other programs used 0.4 of 2 processors meanwhile");
        assert_eq!(told(1000), None, "ticks may know of less than we used");
    }

    #[test]
    fn what_the_host_took_is_told_and_of_short_times_the_load_before() {
        let told = |ticks| stolen(spent(0, ticks)).map(|warning| warning.message);
        assert_eq!(told(20), None);
        let gave = "the host gave 2% of the processors' time to other guests meanwhile";
        assert_eq!(told(40).unwrap(), gave);
        let busy = serde_json::json!({"load_average": [1.5, 0, 0], "cores": 2});
        let told = Watch::begin().warnings(&busy);
        assert!(told[0].message.contains("1.50"), "{told:?}");
    }
}
