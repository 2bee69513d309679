//! Builds the account of a recording.

use super::announced::announcer;
use super::binaries::Binaries;
use super::critical_path::{Moment, critical_path, split_at_execs, steps, thread_alone};
use super::model::{Account, ProcessAccount, ThreadAccount};
use super::reading::Reconstruction;
use super::step::{Reason, What};
use super::{files, searches};
use firstbyte_measure::Counts;
use firstbyte_measure::timeline::{Timeline, TimelineError};
use firstbyte_measure::tracer::{EventKind, Recording};
use firstbyte_measure::units::Nanos;

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

        let end = last_of(&threads, timeline.total);
        let end = announced(recording, &threads, timeline.total).unwrap_or(end);
        let moments: Vec<Moment> = first_write(recording, timeline.total).into_iter().chain([end]).collect();
        let path = split_at_execs(critical_path(&threads, &moments), &processes);

        Ok(Account {
            phases,
            total: timeline.total,
            wall: timeline.wall,
            root: recording.root,
            steps: steps(&threads, &path),
            path,
            threads,
            processes,
            files,
            searches,
            counts,
            lost: recording.lost,
        })
    }

    /// The same run along its main thread alone, with what it waited for as waiting.
    #[must_use]
    pub fn along_main_thread(mut self) -> Account {
        self.path = thread_alone(self.main());
        self.steps = steps(&self.threads, &self.path);
        self
    }
}

/// The end of the tracee: of its first thread, or of the one that was left when that had ended.
fn last_of(threads: &[ThreadAccount], total: Nanos) -> Moment {
    let main = &threads[0];
    let is_gone = main.steps.last().is_some_and(|step| step.what == What::Off(Reason::Gone));
    let others = threads.iter().filter(|thread| thread.pid == main.pid && thread.tid != main.pid);
    let last = others.max_by_key(|thread| thread.start + thread.lifetime).filter(|_| is_gone).unwrap_or(main);
    Moment { pid: last.pid, tid: last.tid, at: total }
}

/// The end of a run that ended at a moment of its program: of the thread that brought it about.
fn announced(recording: &Recording, threads: &[ThreadAccount], total: Nanos) -> Option<Moment> {
    let [pid, tid] = announcer(&recording.events)?;
    let lives = |thread: &&ThreadAccount| {
        (thread.pid, thread.tid) == (pid, tid) && thread.start + thread.lifetime >= total
    };
    threads.iter().find(lives).map(|_| Moment { pid, tid, at: total })
}

/// The return of the first write of output.
fn first_write(recording: &Recording, total: Nanos) -> Option<Moment> {
    let entered =
        recording.events.iter().find(|e| e.pid == recording.root && e.kind == EventKind::ExecEnter)?;
    let write = recording.events.iter().find(|event| {
        matches!(event.kind, EventKind::OutputExit { result: 1.., .. }) && event.at >= entered.at
    })?;
    let at = write.at - entered.at;
    (at < total).then_some(Moment { pid: write.pid, tid: write.tid, at })
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
        writes: recording.output_writes(),
        ..Counts::default()
    };

    counts.syscalls = counts.execs;
    for step in threads.iter().flat_map(|thread| &thread.steps) {
        match &step.what {
            What::Call { failed, .. } => {
                counts.syscalls += 1;
                if step.what.opens() {
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
