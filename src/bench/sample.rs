//! The results of runs: one sample for each run, one series for each program.

use super::accepted::Accepted;
use crate::document::bench::ColdRuns;
use crate::document::conditions::Conditions;
use crate::document::residence::ResidentPart;
use crate::document::series::Rejected;
use crate::stats::{Bootstrap, Comparison, median_of, paired};
use firstbyte_measure::Counts;
use firstbyte_measure::counters::CounterValues;
use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::timeline::Phases;
use firstbyte_measure::timeline::marks::MarkSums;
use firstbyte_measure::timeline::region::Region;
use firstbyte_measure::tracer::{Output, Recording};
use firstbyte_measure::units::{Bytes, Nanos};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// One run that counts: its output and its exit status were right, and no event was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// `None` with the pipe backend, which sees no phases.
    pub phases: Option<Phases>,
    /// From the entry of `execve` until the first byte was out; with the pipe backend, from the launch until the byte
    /// arrived at our end. `None`: the program printed nothing, or it could not be seen.
    pub first_byte: Option<Nanos>,
    /// From the entry of `execve` until the exit; with the pipe backend, from the launch until the program was reaped.
    pub total: Nanos,
    /// From just before the process was created until it was reaped, by our own clock: the cost of a spawn for its caller.
    /// It is measured in the same way in every backend, so it serves to compare traced and untraced runs.
    pub wall: Nanos,
    /// User CPU time that the kernel accounts to the tracee and the children it waited for.
    pub user: Nanos,
    /// System CPU time of the same processes. Kernels that account by ticks give short processes 0.
    pub system: Nanos,
    /// Peak resident set size; `None` if the kernel's figure would be ours instead of the tracee's.
    pub max_rss: Option<Bytes>,
    /// Page faults that waited for a disk, of the tracee and the children it waited for.
    pub major_faults: u64,
    /// The number of bytes that were read from disks for them.
    pub from_disk: Bytes,
    /// How often the tracee and the children it waited for gave up or lost the processor; `None` under a tracer that
    /// stops them.
    pub context_switches: Option<u64>,
    pub exit: ExitStatus,
    /// Processes seen in the tree, including the tracee (0: not observed).
    pub processes: u32,
    /// Threads seen in the tree, including main threads (0: not observed).
    pub threads: u32,
    /// Successful execs, including the first (0: not observed).
    pub execs: u32,
    /// Where marks were looked for.
    pub marks: MarkSums,
}

/// Processor time of one run in which every entry into the kernel was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    /// User code of the tracee and of the processes that it waited for.
    pub user: Nanos,
    /// All of the same processes, also in the kernel: what the tracee's parent is charged for.
    pub scored: Nanos,
    /// All of every process of its tree, until it exited.
    pub burnt: Nanos,
}

/// A region between two texts that a program prints, and its time in runs apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionTimes {
    pub region: Region,
    /// Each with the number of its round.
    pub times: Vec<(u32, Nanos)>,
    /// Why there are none: one lower-case line.
    pub why_not: Option<String>,
}

impl Sample {
    /// User and system CPU time together, which kernels that account by ticks know exactly, too.
    pub fn processor(&self) -> Nanos {
        self.user + self.system
    }
}

/// A run with no tracer attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untraced {
    pub wall: Nanos,
    /// As [`Sample::processor`].
    pub processor: Nanos,
    /// Indices of the traced samples of the same block of rounds, with which it is compared.
    pub beside: Range<usize>,
}

/// All samples of one program under one condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// The displayed name.
    pub name: String,
    /// The name that the user gave it, which others may have too.
    pub given_name: Option<String>,
    /// The command, as typed in a shell.
    pub command: String,
    /// How it must end.
    pub accepted: Accepted,
    /// Size of the file that is executed (native programs) or interpreted.
    pub file_size: Option<Bytes>,
    /// Values of the parameters in the command.
    pub parameters: BTreeMap<String, Value>,
    pub conditions: Option<Conditions>,
    /// How the page cache was made cold; `None`: it was warm.
    pub cold: Option<ColdRuns>,
    /// What of its files was in memory before the first sample; empty if nobody looked.
    pub resident: Vec<ResidentPart>,
    /// The samples in the order in which they were taken.
    pub samples: Vec<Sample>,
    /// The run of each sample with the number of its round, where runs are explained rather than timed.
    pub recordings: Vec<(u32, Recording)>,
    /// Runs of the same program with no tracer attached, interleaved with the others: for the observer overhead.
    pub untraced: Vec<Untraced>,
    /// How the first untraced run ended.
    pub untraced_exit: Option<ExitStatus>,
    /// Runs that did not count.
    pub rejected: Vec<Rejected>,
    /// One entry for each counting run.
    pub counts: Vec<Counts>,
    /// Why counting runs are missing: one lower-case line.
    pub uncounted: Option<String>,
    /// Processor times of runs apart, with the number of their round.
    pub processor: Vec<(u32, ProcessorTime)>,
    /// The region whose time is wanted in the same runs.
    pub region: Option<RegionTimes>,
    /// Why `processor` is empty: one lower-case line.
    pub undivided: Option<String>,
    /// Files of the machine that slow its start and that no clean environment removes.
    pub influences: Vec<String>,
    /// What the processor counted, by the names of the document: one entry for each run and side.
    pub counters: Vec<CounterValues>,
    /// How many writes of output stopped it in its last run; 0 under a tracer that does not stop it.
    pub stopped_writes: u64,
    /// In a run, processes that it had started still ran when it exited, and were killed.
    pub left_behind: bool,
    /// Events that were lost over all runs.
    pub lost_events: u64,
    /// The output of its runs; `None` if it could not be seen (a null device).
    pub output: Option<Printed>,
}

impl Series {
    /// How long its timed runs took.
    pub(super) fn timed(&self) -> Duration {
        Duration::from_nanos(self.samples.iter().map(|sample| sample.wall.0).sum())
    }

    /// The number of events in its recordings.
    pub(super) fn events(&self) -> usize {
        self.recordings.iter().map(|(_, recording)| recording.events.len()).sum()
    }
}

/// The output of the runs that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Bytes of the last run.
    pub bytes: u64,
    /// The smallest number of bytes that a run printed.
    pub least: u64,
    /// The largest number of bytes that a run printed.
    pub most: u64,
    /// Each run's bytes were compared with the expected ones and are equal. If not set, nothing was expected.
    pub checked: bool,
}

impl Printed {
    /// The output of one run; `None` if it could not be seen.
    pub fn of(output: &Output) -> Option<Printed> {
        let bytes = output.bytes?;
        Some(Printed { bytes, least: bytes, most: bytes, checked: output.ok == Some(true) })
    }

    /// Together with the output of a later run.
    #[must_use]
    pub fn and(self, later: Printed) -> Printed {
        Printed {
            bytes: later.bytes,
            least: self.least.min(later.least),
            most: self.most.max(later.most),
            checked: self.checked && later.checked,
        }
    }
}

/// The times of a block, in nanoseconds: all of them, or a figure for each kind of run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BothKinds<T> {
    pub traced: T,
    pub untraced: T,
}

impl BothKinds<f64> {
    /// The medians of the blocks that have both kinds of runs.
    pub fn medians(blocks: &[BothKinds<Vec<f64>>]) -> Vec<BothKinds<f64>> {
        let medians = |block: &BothKinds<Vec<f64>>| {
            let (traced, untraced) = (median_of(&block.traced)?, median_of(&block.untraced)?);
            Some(BothKinds { traced, untraced })
        };
        blocks.iter().filter_map(medians).collect()
    }

    /// Wall time of traced runs over that of untraced ones, block by block; `None` if there are too few blocks.
    pub fn overhead(blocks: &[BothKinds<f64>]) -> Option<Comparison> {
        let (untraced, traced): (Vec<f64>, Vec<f64>) =
            blocks.iter().map(|block| (block.untraced, block.traced)).unzip();
        paired(&untraced, &traced, Bootstrap::default())
    }
}

impl Series {
    /// Wall times of each block of rounds that has both kinds of runs.
    pub fn blocks(&self) -> Vec<BothKinds<Vec<f64>>> {
        self.blocks_of(|run| run.wall, |run| run.wall)
    }

    /// Their processor times, to which nothing adds that other programs do.
    pub fn processor_blocks(&self) -> Vec<BothKinds<Vec<f64>>> {
        self.blocks_of(Sample::processor, |run| run.processor)
    }

    fn blocks_of(
        &self,
        of_traced: fn(&Sample) -> Nanos,
        of_untraced: fn(&Untraced) -> Nanos,
    ) -> Vec<BothKinds<Vec<f64>>> {
        let block = |untraced: &[Untraced]| {
            let traced = untraced.first().and_then(|first| self.samples.get(first.beside.clone()));
            let traced = traced.unwrap_or_default().iter().map(|run| of_traced(run).as_f64()).collect();
            BothKinds { traced, untraced: untraced.iter().map(|run| of_untraced(run).as_f64()).collect() }
        };
        self.untraced.chunk_by(|a, b| a.beside == b.beside).map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_varies_has_its_extremes_and_the_last_size() {
        let printed =
            |bytes, ok| Printed::of(&Output { bytes: Some(bytes), ok, ..Output::default() }).unwrap();
        let all = [(3, Some(true)), (9, None), (5, Some(true))].map(|(bytes, ok)| printed(bytes, ok));
        let together = all.into_iter().reduce(Printed::and).unwrap();
        assert_eq!(together, Printed { bytes: 5, least: 3, most: 9, checked: false });
        assert_eq!(printed(5, None).and(printed(2, None)).least, 2);
        assert_eq!(Printed::of(&Output::default()), None);
    }
}
