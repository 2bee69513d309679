//! What a recording amounts to.

use super::binaries::Binaries;
use super::files::{FileAccount, of_steps};
use super::reading::Reading;
use super::searches::{self, Search};
use super::step::{Step, What};
use firstbyte_measure::Counts;
use firstbyte_measure::timeline::Phases;
use firstbyte_measure::timeline::{Timeline, TimelineError};
use firstbyte_measure::tracer::Recording;
use firstbyte_measure::units::Nanos;
use std::sync::Arc;

/// One run, explained.
#[derive(Clone, Debug)]
pub struct Account {
    /// The partition of the total.
    pub phases: Phases,
    /// From the entry of the first `execve` to the tracee's exit.
    pub total: Nanos,
    /// From just before the process was created until it was reaped.
    pub wall: Nanos,
    /// The tracee's process id.
    pub root: u32,
    /// Every thread, the tracee's main thread first, then in the order of their beginning.
    pub threads: Vec<ThreadAccount>,
    /// Every process, in the order of their beginning.
    pub processes: Vec<ProcessAccount>,
    /// Every file that was opened, tried, mapped or read.
    pub files: Vec<FileAccount>,
    /// Names that were searched for in several places.
    pub searches: Vec<Search>,
    /// What does not jitter.
    pub counts: Counts,
    /// Events that were lost.
    pub lost: u64,
}

/// One thread.
#[derive(Clone, Debug)]
pub struct ThreadAccount {
    /// Its process.
    pub pid: u32,
    /// Its id.
    pub tid: u32,
    /// When it began, from the entry of the first `execve`.
    pub start: Nanos,
    /// How long it lived; of the tracee's main thread this is the total.
    pub lifetime: Nanos,
    /// What it did, in order.
    pub steps: Vec<Step>,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessAccount {
    /// Its id.
    pub pid: u32,
    /// Its parent's; 0 for the tracee.
    pub parent: u32,
    /// When it began, from the entry of the first `execve`.
    pub start: Nanos,
    /// When it ended; `None`: it was not seen to.
    pub end: Option<Nanos>,
    /// The wait status at its end.
    pub status: Option<i32>,
    /// What it executed, in order.
    pub execs: Vec<Execution>,
    /// Its threads, the main thread included.
    pub threads: u32,
}

/// A successful exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// When it was entered.
    pub start: Nanos,
    /// How long the kernel took.
    pub took: Nanos,
    /// The file that was named.
    pub path: Arc<str>,
    /// The file that is executed, where the named one is a script.
    pub executed: Arc<str>,
    /// The argument vector, as far as it was seen.
    pub argv: Vec<String>,
}

impl Account {
    /// Explains a recording.
    pub fn of(recording: &Recording, binaries: &dyn Binaries) -> Result<Account, TimelineError> {
        let timeline = Timeline::of(recording)?;
        let phases = timeline.phases.ok_or(TimelineError::Missing("the system calls"))?;
        let reading = Reading::of(recording, binaries, timeline.total);
        let (threads, processes) = (reading.threads, reading.processes);
        let files = of_steps(&threads, &reading.bytes_read);
        let searches = searches::of_threads(&threads);
        let counts = counts(&threads, &processes, reading.all_bytes_read, recording);
        Ok(Account {
            phases,
            total: timeline.total,
            wall: timeline.wall,
            root: recording.root,
            threads,
            processes,
            files,
            searches,
            counts,
            lost: recording.lost,
        })
    }

    /// Page faults of all threads; `None` where the backend saw none, for nothing starts without one.
    pub fn page_faults(&self) -> Option<u64> {
        Some(self.counts.page_faults).filter(|faults| *faults > 0)
    }

    /// The tracee's main thread.
    pub fn main(&self) -> &ThreadAccount {
        &self.threads[0]
    }
}

fn counts(
    threads: &[ThreadAccount],
    processes: &[ProcessAccount],
    bytes_read: u64,
    recording: &Recording,
) -> Counts {
    use firstbyte_measure::tracer::EventKind;
    let mut counts = Counts {
        processes: processes.len() as u64,
        threads: threads.len() as u64,
        execs: processes.iter().map(|process| process.execs.len() as u64).sum(),
        bytes_read,
        max_rss: recording.usage.max_rss.map_or(0, |bytes| bytes.0),
        ..Counts::default()
    };
    counts.syscalls = counts.execs;
    for step in threads.iter().flat_map(|thread| &thread.steps) {
        match &step.what {
            What::Call { name, failed, .. } => {
                counts.syscalls += 1;
                if is_open(name) {
                    *(if *failed { &mut counts.failed_opens } else { &mut counts.files_opened }) += 1;
                }
            }
            What::Fault(fault) => {
                counts.page_faults += 1;
                counts.major_faults += u64::from(fault.major);
            }
            _ => {}
        }
    }
    counts.writes = recording
        .events
        .iter()
        .find_map(|event| match event.kind {
            EventKind::OutputLast { writes, .. } => Some(writes),
            _ => None,
        })
        .unwrap_or(0);
    counts
}

/// Opens a file by its path.
pub(super) fn is_open(name: &str) -> bool {
    matches!(name, "open" | "openat" | "openat2" | "creat")
}
