//! Who else used the processors while something was measured: other programs, and the host's other guests.
//!
//! Measured over the whole time, not read off the load average: that is high after a build which has ended, and knows
//! nothing of what begins later.

use crate::launch::own_processor_time;
use crate::machine::ProcessorTime;
use crate::report::document::Warning;
use crate::units::Nanos;

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

    /// What came between the beginning and now that a reader should know of.
    pub(super) fn warnings(self) -> Vec<Warning> {
        let own = own_processor_time().since(self.own).unwrap_or_default();
        let spent = self.processors.zip(ProcessorTime::now()).map(|(before, now)| now.since(before));
        spent.map_or_else(Vec::new, |spent| judged(spent, own, rustix::param::clock_ticks_per_second()))
    }
}

fn judged(spent: ProcessorTime, own: Nanos, ticks_a_second: u64) -> Vec<Warning> {
    let ProcessorTime { processors, busy, stolen, all } = spent;
    let own_ticks = own.as_f64() * ticks_a_second as f64 / 1e9;
    let of_all = |ticks: f64| ticks / all.max(1) as f64;
    let (others, stolen) = (of_all(busy as f64 - own_ticks) * processors as f64, of_all(stolen as f64));
    let long_enough = all >= SHORTEST_TICKS * processors as u64;
    let others = (long_enough && others > OTHERS).then(|| Warning {
        name: None,
        message: format!("other programs used {others:.1} of {processors} processors meanwhile"),
        help: Some("close them (`top` shows which they are), and measure again".to_owned()),
    });
    let stolen = (stolen > STOLEN).then(|| Warning {
        name: None,
        message: format!(
            "the host gave {:.0}% of the processors' time to other guests meanwhile",
            stolen * 100.0
        ),
        help: Some("measure again later, or on another machine".to_owned()),
    });
    others.into_iter().chain(stolen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds of two processors.
    fn messages(busy: u64, stolen: u64, own: Nanos) -> Vec<String> {
        let spent = ProcessorTime { processors: 2, busy, stolen, all: 2000 };
        judged(spent, own, 100).into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn what_we_used_ourselves_is_no_interference() {
        let ours = Nanos(12_000_000_000);
        assert_eq!(messages(1240, 0, ours), [""; 0]);
        assert_eq!(messages(1600, 0, ours), ["other programs used 0.4 of 2 processors meanwhile"]);
        assert_eq!(messages(1000, 0, ours), [""; 0], "ticks may know of less than we used");
    }

    #[test]
    fn what_the_host_took_is_told_and_short_times_prove_nothing() {
        assert_eq!(
            messages(0, 40, Nanos(0)),
            ["the host gave 2% of the processors' time to other guests meanwhile"]
        );
        let short = ProcessorTime { processors: 2, busy: 60, stolen: 0, all: 60 };
        assert!(judged(short, Nanos(0), 100).is_empty());
    }
}
