//! Builds the account of a recording.

use super::binaries::Binaries;
use super::model::{Account, ProcessAccount, ThreadAccount};
use super::reading::Reconstruction;
use super::step::{What, is_open};
use super::{files, searches};
use firstbyte_measure::Counts;
use firstbyte_measure::timeline::{Timeline, TimelineError};
use firstbyte_measure::tracer::{EventKind, Recording};

impl Account {
    /// Explains a recording.
    pub fn of(recording: &Recording, binaries: &dyn Binaries) -> Result<Account, TimelineError> {
        let timeline = Timeline::of(recording)?;
        let phases = timeline.phases.ok_or(TimelineError::Missing("the system calls"))?;

        let Reconstruction { threads, processes, bytes_read, all_bytes_read } =
            Reconstruction::of(recording, binaries, timeline.total);
        let files = files::of_threads(&threads, &bytes_read);
        let searches = searches::of_threads(&threads);
        let counts = counts(&threads, &processes, all_bytes_read, recording);

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
}

fn counts(
    threads: &[ThreadAccount],
    processes: &[ProcessAccount],
    bytes_read: u64,
    recording: &Recording,
) -> Counts {
    let mut counts = Counts {
        processes: processes.len() as u64,
        threads: threads.len() as u64,
        execs: processes.iter().map(|process| process.execs.len() as u64).sum(),
        bytes_read,
        max_rss: recording.usage.max_rss.map_or(0, |bytes| bytes.0),
        writes: writes_of_output(recording),
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
    counts
}

fn writes_of_output(recording: &Recording) -> u64 {
    let last = recording.events.iter().find_map(|event| match event.kind {
        EventKind::OutputLast { writes, .. } => Some(writes),
        _ => None,
    });
    last.unwrap_or(0)
}
