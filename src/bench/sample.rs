//! What runs amount to: a sample a run, a series a program.

pub(crate) use firstbyte_measure::Counts;
use firstbyte_measure::counters::Counted;
use firstbyte_measure::launch::ExitStatus;
use firstbyte_measure::timeline::Phases;
use firstbyte_measure::tracer::Output;
use firstbyte_measure::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One run that counts: right output, expected exit, nothing lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// `None` with the pipe backend, which sees no phases.
    pub phases: Option<Phases>,
    /// From the entry of `execve` (pipe backend: from the launch) until the first byte was out
    /// (pipe backend: until it arrived at our end). `None`: it printed nothing, or nobody could see.
    pub first_byte: Option<Nanos>,
    /// From the entry of `execve` (pipe backend: from the launch) until the exit (pipe backend: until reaped).
    pub total: Nanos,
    /// From just before the process was created until it was reaped, by our own clock: what a spawn costs its
    /// caller, the same in every backend, and what traced and untraced runs are compared by.
    pub wall: Nanos,
    /// User CPU time that the kernel accounts for the tracee and its waited-for children.
    pub user: Nanos,
    /// System CPU time, likewise; tick-accounted kernels give short processes 0.
    pub system: Nanos,
    /// Peak resident set size; `None` where the kernel's figure would be ours rather than the tracee's.
    pub max_rss: Option<Bytes>,
    /// Page faults that waited for a disk, of the tracee and its waited-for children.
    pub major_faults: u64,
    /// What was read from disks for them.
    pub from_disk: Bytes,
    /// How often it gave the processor up or lost it, its waited-for children included; `None` under a tracer that stops it.
    #[serde(default)]
    pub context_switches: Option<u64>,
    /// How the tracee ended.
    pub exit: ExitStatus,
    /// Processes of the tree that were seen, the tracee included (0: not observed).
    pub processes: u32,
    /// Threads of the tree that were seen, main threads included (0: not observed).
    pub threads: u32,
    /// Successful execs, the first included (0: not observed).
    pub execs: u32,
}

/// A run that must not be counted, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// Which run of the series, from 0.
    pub run: u32,
    /// Why: one lower-case line.
    pub reason: String,
}

/// A run with no tracer attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untraced {
    /// Its wall time.
    pub wall: Nanos,
    /// The samples that it is compared with, those of the same block of rounds: first index, and the one after the last.
    pub beside: Range<usize>,
}

/// All samples of one program under one condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The name shown.
    pub name: String,
    /// The command, as a shell would take it.
    pub command: String,
    /// How it must end; `None`: as it likes.
    #[serde(default)]
    pub expected: Option<ExitStatus>,
    /// The samples in the order in which they were taken.
    pub samples: Vec<Sample>,
    /// The same program, runs in turn, with no tracer attached: for the observer overhead.
    pub untraced: Vec<Untraced>,
    /// Runs that did not count.
    pub rejected: Vec<Rejected>,
    /// One entry a counting run.
    pub counts: Vec<Counts>,
    /// Why counting runs are missing: one lower-case line.
    #[serde(default)]
    pub uncounted: Option<String>,
    /// What the processor counted, by the names of the document: one entry a run and side.
    #[serde(default)]
    pub counters: Vec<Counted>,
    /// Events that were lost over all runs.
    pub lost_events: u64,
    /// Size of the file that is executed (native programs) or interpreted.
    pub file_size: Option<Bytes>,
    /// What its runs printed; `None` where nobody could see (a null device).
    #[serde(default)]
    pub output: Option<Printed>,
}

/// What the runs that count printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// Bytes of the last run.
    pub bytes: u64,
    /// Bytes of the run that printed least.
    pub least: u64,
    /// Bytes of the run that printed most.
    pub most: u64,
    /// Each run's bytes were compared with those expected, and were these; else nothing was expected.
    pub checked: bool,
}

impl Printed {
    /// What one run printed; `None` where nobody could see.
    pub fn of(output: &Output) -> Option<Printed> {
        let bytes = output.bytes?;
        Some(Printed { bytes, least: bytes, most: bytes, checked: output.ok == Some(true) })
    }

    /// With those of another, later run.
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

impl Series {
    /// Wall times of each block of rounds that has both: of the untraced runs, and of the traced ones before them.
    pub fn blocks(&self) -> Vec<(Vec<f64>, Vec<f64>)> {
        let block = |untraced: &[Untraced]| {
            let traced = untraced.first().and_then(|first| self.samples.get(first.beside.clone()));
            let traced = traced.unwrap_or_default().iter().map(|sample| sample.wall.as_f64()).collect();
            (untraced.iter().map(|run| run.wall.as_f64()).collect(), traced)
        };
        self.untraced.chunk_by(|a, b| a.beside == b.beside).map(block).collect()
    }
}
