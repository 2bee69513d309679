//! Builds the account of a recording.

use super::announced::announcer;
use super::binaries::Binaries;
use super::critical_path::{Moment, critical_path, split_at_execs, steps, thread_alone};
use super::model::{Account, PathPiece, ProcessAccount, ThreadAccount};
use super::reading::Reconstruction;
use super::step::{Reason, Step, What};
use super::{files, searches};
use firstbyte_measure::Counts;
use firstbyte_measure::arch::CallFacts;
use firstbyte_measure::timeline::{PerPhase, Phase, Phases, Timeline, TimelineError};
use firstbyte_measure::tracer::{EventKind, Recording};
use firstbyte_measure::units::Nanos;
use std::sync::{Arc, OnceLock};

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
            taken: OnceLock::new(),
        })
    }

    /// These parts of the run alone, which are in order and do not overlap. The total is the sum of their lengths.
    #[must_use]
    pub fn within(mut self, parts: &[[Nanos; 2]]) -> Account {
        let clipped = |piece: PathPiece| {
            let first = parts.partition_point(|[_, to]| *to <= piece.from);
            let inside = parts[first..].iter().take_while(move |[from, _]| *from < piece.to);
            inside.map(move |[from, to]| PathPiece {
                from: piece.from.max(*from),
                to: piece.to.min(*to),
                ..piece
            })
        };
        let lives: Vec<Vec<PathPiece>> = (0..self.threads.len())
            .map(|thread| clipped(whole_life(&self.threads, thread)).collect())
            .collect();
        self.path = self.path.into_iter().flat_map(clipped).collect();
        self.steps = steps(&self.threads, &self.path);
        self.taken = OnceLock::new();
        let kept: Vec<Vec<Step>> = lives.iter().map(|life| steps(&self.threads, life)).collect();
        for (thread, steps) in self.threads.iter_mut().zip(kept) {
            thread.steps = steps;
        }

        self.phases = phases_within(self.phases, parts);
        self.total = parts.iter().map(|[from, to]| *to - *from).sum();
        let bytes_read = bytes_read(&self.threads);
        self.files = files::of_threads(&self.threads, &bytes_read);
        self.searches = searches::of_threads(&self.threads);
        let execs = self.processes.iter().flat_map(|process| &process.execs);
        let begun = execs.filter(|exec| parts.iter().any(|[from, to]| (*from..*to).contains(&exec.start)));
        self.counts = Counts {
            processes: self.counts.processes,
            threads: self.counts.threads,
            max_rss: self.counts.max_rss,
            execs: begun.count() as u64,
            bytes_read: bytes_read.iter().map(|(_, bytes)| bytes).sum(),
            writes: self.writes_to("stdout") as u64,
            ..Counts::default()
        };
        count_steps(&mut self.counts, &self.threads);
        self
    }

    /// The same run along its main thread alone, with what it waited for as waiting.
    #[must_use]
    pub fn along_main_thread(mut self) -> Account {
        self.path = thread_alone(self.main());
        self.steps = steps(&self.threads, &self.path);
        self.taken = OnceLock::new();
        self
    }
}

/// The end of the tracee: of its first thread, or of the one that was left when that had ended.
fn last_of(threads: &[ThreadAccount], total: Nanos) -> Moment {
    let main = &threads[0];
    let is_gone = main.steps.last().is_some_and(|step| *step.what == What::Off(Reason::Gone));
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
        // threads of the kernel, such as workers of io_uring, are nobody's creation
        threads: processes.iter().map(|process| u64::from(process.threads)).sum(),
        execs: processes.iter().map(|process| process.execs.len() as u64).sum(),
        bytes_read,
        max_rss: recording.usage.max_rss.map_or(0, |bytes| bytes.0),
        writes: recording.output_writes(),
        ..Counts::default()
    };
    count_steps(&mut counts, threads);
    counts
}

/// Adds what the steps show to the counts.
fn count_steps(counts: &mut Counts, threads: &[ThreadAccount]) {
    counts.syscalls = counts.execs;
    for step in threads.iter().flat_map(|thread| &thread.steps) {
        match &*step.what {
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
}

fn whole_life(threads: &[ThreadAccount], thread: usize) -> PathPiece {
    let ThreadAccount { pid, tid, start, lifetime, .. } = threads[thread];
    PathPiece { thread, pid, tid, from: start, to: start + lifetime }
}

/// How much of each phase lies in these parts. A phase before the first byte of which nothing does is not there.
fn phases_within(phases: Phases, parts: &[[Nanos; 2]]) -> Phases {
    let mut begin = Nanos(0);
    let within = PerPhase::from_fn(|phase| {
        let end = begin + phases.get(phase).unwrap_or_default();
        let common = |[from, to]: &[Nanos; 2]| to.min(&end).since(*from.max(&begin)).unwrap_or_default();
        let sum: Nanos = parts.iter().map(common).sum();
        begin = end;
        sum
    });
    let some = |phase: Phase| Some(within[phase]).filter(|time| time.0 > 0);
    Phases {
        startup: within[Phase::Startup],
        setup: some(Phase::Setup),
        write: some(Phase::Write),
        teardown: within[Phase::Teardown],
    }
}

/// What the calls of some steps read, by file.
fn bytes_read(threads: &[ThreadAccount]) -> Vec<(Arc<str>, u64)> {
    let read = threads.iter().flat_map(|thread| &thread.steps).filter_map(|step| match &*step.what {
        What::Call { file: Some(file), text, failed: false, .. }
            if step.what.call_facts().is_some_and(CallFacts::reads) =>
        {
            Some((Arc::clone(file), text.rsplit_once(" = ")?.1.parse().ok()?))
        }
        _ => None,
    });
    read.collect()
}
