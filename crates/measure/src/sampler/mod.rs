//! Samples the user code of a run: where it is, by which calls it came there.
//!
//! System calls and page faults say exactly how long user code ran, and nothing about which code it was. So separate
//! runs are sampled: the kernel interrupts every task of the tracee's tree each time it has used the processor for one
//! period (the event `cpu-clock` of `perf_event_open(2)`, which virtual machines have, too), and stores the user
//! registers and a copy of the user stack, to be unwound later.
//!
//! The events are opened on our own thread and inherited by what it creates, as with [`crate::counters`]. They are
//! enabled all the time, and the child spins for a random part of a period before its `execve`: so the samples of many
//! runs fall on all places of a program with the same probability. With a timer that begins at the exec, every run of a
//! short program would be sampled at the same few places. The first period of a thread or process that the program creates
//! begins with it. So each run has another period, between a half and one and a half of the wanted one. A sample stands for
//! the period of its run.

#[cfg(feature = "bpf")]
mod copies;
mod cost;
mod frames;
#[cfg(fuzzing)]
pub mod fuzzed;
mod language;
mod record;
mod registers;
mod rings;
mod stops;

pub use frames::has_readable_frames;
pub use language::{Joint, LanguageFrame, LanguageFunction, LanguageStack, NativePart};
pub use record::{Mapping, Record, StackSample, TaskEvent};
pub use registers::Registers;
pub use stops::StopSampler;

use self::rings::{Drained, Rings};
use crate::confinement::Hindrance;
use crate::launch::{LaunchError, Launcher, Preparation};
use crate::timeline::marks::Marks;
use crate::tracer::choose::ChooseError;
use crate::tracer::pipe::PipeTracer;
use crate::tracer::{Backend, EventKind, Recording, RunOptions, Tracer};
use crate::units::Nanos;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The shortest period on any machine.
pub const MIN_PERIOD: Nanos = Nanos(50_000);

/// Sampling may take one twentieth of a run's time.
const RUNS_PER_COST: u64 = 20;

/// The kernel's records of one sampled run, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The tracee's process id.
    pub root: u32,
    /// The processor time between two samples of a task.
    pub period: Nanos,
    /// From the tracee's first exec on.
    pub records: Vec<Record>,
    /// Records for which the ring had no room.
    pub lost: u64,
    /// Interpreters whose frames could not be read, by their names and versions.
    pub unknown: BTreeSet<String>,
    /// The entry of the tracee's first `execve`, and the marks of the run, if they were wanted.
    pub marks: Option<(Nanos, Marks)>,
}

/// Samples runs while it is attached.
#[derive(Debug)]
pub struct Sampler {
    period: Nanos,
    /// Runs so far.
    runs: u32,
    rings: Option<Rings>,
    random: fastrand::Rng,
    streams: Vec<Stream>,
}

/// Why nothing can be sampled.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// The kernel forbids it.
    #[error("the kernel does not allow sampling: {}\nhelp: {}", .0.cause, .0.help)]
    Forbidden(Hindrance),
    /// Another error of the kernel, for example without `CONFIG_PERF_EVENTS`.
    #[error("the kernel cannot sample: {0}")]
    Failed(std::io::Error),
}

impl Sampler {
    /// A sampler that is not attached yet. Periods below [`MIN_PERIOD`] are raised to it.
    pub fn new(period: Nanos, seed: u64) -> Sampler {
        Sampler {
            period: period.max(MIN_PERIOD),
            runs: 0,
            rings: None,
            random: fastrand::Rng::with_seed(seed),
            streams: Vec::new(),
        }
    }

    /// The shortest period at which sampled runs take at most 5 % more time, from a measurement of what a sample costs.
    ///
    /// # Errors
    ///
    /// Why this machine does not allow sampling, with the command that allows it.
    pub fn shortest_period() -> Result<Nanos, SamplerError> {
        let cost = cost::cost_of_sample()?;
        Ok(shortest_period_of(cost))
    }

    /// Opens the events. Runs that the same thread makes from now on are sampled.
    pub fn attach(&mut self) -> Result<(), SamplerError> {
        self.rings = Some(Rings::open(Some(self.period))?);
        Ok(())
    }

    /// Closes the events.
    pub fn detach(&mut self) {
        self.rings = None;
    }

    fn next_period(&mut self) -> Nanos {
        let period = next_period(self.period, self.runs);
        self.runs = self.runs.wrapping_add(1);
        period
    }

    /// Samples so far.
    pub fn samples(&self) -> usize {
        self.streams.iter().map(Stream::samples).sum()
    }

    /// The runs that were sampled so far.
    pub fn take(&mut self) -> Vec<Stream> {
        std::mem::take(&mut self.streams)
    }
}

/// The period at which samples of this cost take at most 5 % more time.
fn shortest_period_of(cost: Nanos) -> Nanos {
    // the periods of the runs are between a half and one and a half of the wanted one: on average, 1.1 times as many samples
    Nanos(cost.0 * RUNS_PER_COST * 11 / 10).max(MIN_PERIOD)
}

/// Samples runs with the frames of their interpreters while it is attached.
pub trait FrameSampler: Tracer {
    /// The shortest period at which sampled runs take at most 5 % more time.
    fn shortest_period(&self) -> Nanos;

    /// The period of the next runs; longer if samples turn out to cost more, but for that not above `longest`.
    fn use_period(&mut self, period: Nanos, longest: Nanos);

    /// The runs that were sampled so far. `None`: some of their frames could not be read.
    fn take(&mut self) -> Option<Vec<Stream>>;
}

/// A sampler that stops nothing and is not attached yet, for the interpreters in these files. `None`: the kernel, our rights or
/// one of the interpreters does not allow it.
#[cfg(feature = "bpf")]
pub fn without_stops(seed: u64, interpreters: &[PathBuf]) -> Option<Box<dyn FrameSampler>> {
    Some(Box::new(copies::CopySampler::new(seed, interpreters)?))
}

/// Nothing is sampled without stops in this build.
#[cfg(not(feature = "bpf"))]
pub fn without_stops(_seed: u64, _interpreters: &[PathBuf]) -> Option<Box<dyn FrameSampler>> {
    None
}

/// The period of a run. A few runs already have periods from the whole range.
fn next_period(wanted: Nanos, run: u32) -> Nanos {
    // the bits of the run's number from behind: the van der Corput sequence
    let part = f64::from(run.reverse_bits()) / 2_f64.powi(32);
    let shortest = MIN_PERIOD.max(Nanos(wanted.0 / 2));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the period")]
    let more = (part * wanted.as_f64()) as u64;
    Nanos(shortest.0 + more)
}

impl Stream {
    /// The number of samples.
    pub fn samples(&self) -> usize {
        self.records.iter().filter(|record| matches!(record.event, TaskEvent::Sample(_))).count()
    }

    /// Leaves out the samples that are not in the parts of the run that have this name.
    pub fn keep_part(&mut self, name: &str) {
        let (begun, parts) = match &self.marks {
            Some((begun, marks)) => (*begun, marks.parts(name)),
            None => (Nanos(0), Vec::new()),
        };
        let is_inside = |at: Nanos| {
            at.since(begun).is_some_and(|at| parts.iter().any(|[from, to]| (*from..*to).contains(&at)))
        };
        self.records.retain(|record| !matches!(record.event, TaskEvent::Sample(_)) || is_inside(record.at));
    }
}

impl Tracer for Sampler {
    fn backend(&self) -> Backend {
        Backend::Pipe
    }

    fn attach(&mut self) -> Result<(), ChooseError> {
        Sampler::attach(self).map_err(|error| ChooseError::Switch(error.to_string()))
    }

    fn detach(&mut self) -> Result<(), ChooseError> {
        Sampler::detach(self);
        Ok(())
    }

    fn has_overhead(&self) -> bool {
        true
    }

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        let period = self.next_period();
        let spin = Nanos(self.random.u64(0..period.0));
        let (recording, of_rings) = spun(launcher, options, self.rings.as_ref(), period, spin)?;
        if let Some((records, lost)) = of_rings {
            self.streams.push(Stream { period, lost, ..Stream::of(&recording, records) });
        }
        Ok(recording)
    }
}

/// A run that begins with a spin, and what the rings have of it: the records, and how many were lost. Without rings, too:
/// after the spin a program starts with colder caches, so runs that are not sampled need it to be compared with those that are.
fn spun(
    launcher: &mut Launcher,
    options: &RunOptions,
    rings: Option<&Rings>,
    period: Nanos,
    spin: Nanos,
) -> Result<(Recording, Option<Drained>), LaunchError> {
    if let Some(rings) = rings {
        let changed = rings.set_period(period);
        changed.map_err(|cause| LaunchError::Resource { what: "the period of the samples", cause })?;
        rings.drain(); // what the runs before left behind
        rings.take();
    }
    let mut recording =
        PipeTracer::blind().run_prepared(launcher, options, Preparation::Spin { nanos: spin.0 })?;

    // the spin is no part of the start
    if let Some(spawn) = recording.events.iter_mut().find(|event| event.kind == EventKind::Spawn) {
        spawn.at = Nanos(spawn.at.0 + spin.0);
    }
    let of_rings = rings.map(|rings| {
        rings.drain();
        rings.take()
    });
    Ok((recording, of_rings))
}

impl Stream {
    /// What belongs to the run. One that has shown what was waited for is only being ended.
    fn of(recording: &Recording, records: Vec<Record>) -> Stream {
        let reached = recording.events.iter().find(|event| matches!(event.kind, EventKind::Reached { .. }));
        let records = records.into_iter().filter(|record| reached.is_none_or(|end| record.at <= end.at));
        let stream = Stream { root: recording.root, records: records.collect(), ..Stream::default() };
        stream.since_first_exec()
    }

    /// Without what happened before the tracee's first exec: our own code runs there.
    fn since_first_exec(mut self) -> Stream {
        self.records.sort_by_key(|record| record.at);
        let is_first = |record: &Record| record.pid == self.root && record.event == TaskEvent::Exec;
        match self.records.iter().position(is_first) {
            Some(first) => drop(self.records.drain(..first)),
            None => self.records.clear(),
        }
        let tree = tree(self.root, &self.records);
        self.records.retain(|record| tree.contains(&record.pid));
        self
    }
}

/// The tracee and the processes that it created: our own thread is sampled, too.
fn tree(root: u32, records: &[Record]) -> std::collections::HashSet<u32> {
    let mut all = std::collections::HashSet::from([root]);
    for record in records {
        if let TaskEvent::Fork { parent, .. } = record.event
            && all.contains(&parent)
        {
            all.insert(record.pid);
        }
    }
    all
}

impl From<SamplerError> for ChooseError {
    fn from(error: SamplerError) -> ChooseError {
        ChooseError::Switch(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Command;

    fn record(at: u64, pid: u32, event: TaskEvent) -> Record {
        Record { at: Nanos(at), pid, tid: pid, event }
    }

    #[test]
    fn a_stream_begins_at_the_first_exec_and_has_only_the_tree() {
        let records = vec![
            record(1, 7, TaskEvent::Fork { parent: 1, thread: 7 }),
            record(5, 7, TaskEvent::Exec),
            record(3, 7, TaskEvent::Sample(StackSample::default())),
            record(6, 1, TaskEvent::Sample(StackSample::default())),
            record(7, 8, TaskEvent::Fork { parent: 7, thread: 8 }),
            record(8, 8, TaskEvent::Sample(StackSample::default())),
        ];
        let stream = Stream { root: 7, records, ..Stream::default() }.since_first_exec();
        let left: Vec<(u64, u32)> = stream.records.iter().map(|record| (record.at.0, record.pid)).collect();
        assert_eq!(left, [(5, 7), (7, 8), (8, 8)]);
    }

    #[test]
    fn runs_have_periods_around_the_wanted_one() {
        let mut sampler = Sampler::new(Nanos(400_000), 1);
        let periods: Vec<u64> = (0..8).map(|_| sampler.next_period().0 / 1000).collect();
        assert_eq!(periods, [200, 400, 300, 500, 250, 450, 350, 550]);
        let mut shortest = Sampler::new(Nanos(0), 1);
        assert!((0..99).all(|_| shortest.next_period() >= MIN_PERIOD));
    }

    #[test]
    fn a_busy_program_is_sampled_with_its_mappings_and_its_stack() {
        let mut sampler = Sampler::new(Nanos(200_000), 1);
        if let Err(error) = sampler.attach() {
            assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none(), "{error}");
            eprintln!("skipped: {error}");
            return;
        }
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let mut launcher = Launcher::new(Command::new(&["/bin/sh", "-c", script]).unwrap()).unwrap();
        sampler.run(&mut launcher, &RunOptions::default()).unwrap();
        sampler.run(&mut launcher, &RunOptions::default()).unwrap();
        sampler.detach();

        let streams = sampler.take();
        assert_eq!(streams.len(), 2);
        for stream in streams {
            assert_eq!(stream.lost, 0);
            assert_eq!(stream.records[0].event, TaskEvent::Exec);
            let maps = |record: &&Record| matches!(&record.event, TaskEvent::Mapped(map) if map.path.contains("libc"));
            assert!(stream.records.iter().any(|record| maps(&record)), "the C library is mapped");
            let taken = stream.records.iter().filter_map(|record| match &record.event {
                TaskEvent::Sample(sample) => Some(sample),
                _ => None,
            });
            assert!(taken.clone().count() > 3);
            assert!(taken.clone().all(|sample| sample.registers.ip != 0 && !sample.stack.is_empty()));
            assert!(stream.records.windows(2).all(|pair| pair[0].at <= pair[1].at));
        }
    }
}
