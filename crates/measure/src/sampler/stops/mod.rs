//! Samples a run by stopping it: the frames of its interpreter are read while nothing moves.
//!
//! The ring of [`super::rings`] keeps registers and a copy of the stack. The frames of an interpreter are objects on its
//! heap, which change while it runs and are gone after it. So the program is traced, and the event of each of its threads
//! sends SIGTRAP (`sigtrap` of `perf_event_open(2)`, Linux 5.13), at which the thread stops. Then we read what we need, and
//! it goes on; it never gets the signal. Only user code is interrupted, so no system call ends early.
//!
//! | file | what it does |
//! |---|---|
//! | `event` | the event of a thread |
//! | `watched` | what is copied at each stop of a run |
//! | `cost` | what a stop costs |

mod cost;
mod event;
#[cfg(test)]
mod tests;
mod watched;

use self::watched::Watched;
use super::frames::images::Files;
use super::rings::Rings;
use super::{SamplerError, Stream};
use crate::launch::{LaunchError, Launcher};
use crate::timeline::marks::Marks;
use crate::tracer::choose::ChooseError;
use crate::tracer::pipe::PipeTracer;
use crate::tracer::{Backend, Event, EventKind, Recording, RunOptions, Tracer, ptrace};
use crate::units::Nanos;

/// Stops may take one twentieth of a run's time, with what else it costs to be traced.
const RUNS_PER_COST: u64 = 24;

/// Stops samples of runs while it is attached.
#[derive(Debug)]
pub struct StopSampler {
    period: Nanos,
    random: fastrand::Rng,
    files: Files,
    rings: Option<Rings>,
    streams: Vec<Stream>,
}

impl StopSampler {
    /// A sampler that is not attached yet.
    pub fn new(period: Nanos, seed: u64) -> StopSampler {
        StopSampler {
            period,
            random: fastrand::Rng::with_seed(seed),
            files: Files::default(),
            rings: None,
            streams: Vec::new(),
        }
    }

    /// The shortest period at which sampled runs take at most 5 % more time, from a measurement of what a stop costs.
    ///
    /// # Errors
    ///
    /// This machine does not allow it: its kernel is older than Linux 5.13, or it forbids sampling or tracing.
    pub fn shortest_period() -> Result<Nanos, SamplerError> {
        if cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))) {
            let cause = "programs are not stopped on this processor yet";
            return Err(SamplerError::Failed(std::io::Error::other(cause)));
        }
        let cost = cost::cost_of_stop().map_err(SamplerError::Failed)?;
        Ok(Nanos(cost.0 * RUNS_PER_COST).max(super::MIN_PERIOD))
    }

    /// The runs that were sampled so far.
    pub fn take(&mut self) -> Vec<Stream> {
        std::mem::take(&mut self.streams)
    }
}

impl Tracer for StopSampler {
    /// It sees as much of the phases.
    fn backend(&self) -> Backend {
        Backend::Pipe
    }

    fn has_overhead(&self) -> bool {
        true
    }

    fn attach(&mut self) -> Result<(), ChooseError> {
        self.rings = Some(Rings::open(None)?);
        Ok(())
    }

    fn detach(&mut self) -> Result<(), ChooseError> {
        self.rings = None;
        Ok(())
    }

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        let Some(rings) = &self.rings else { return PipeTracer::blind().run(launcher, options) };
        rings.drain(); // what the runs before left behind
        rings.take();
        let mut watched = Watched::new(&mut self.files, self.period, self.random.u64(..));
        let mut recording = ptrace::sample(launcher, options, &mut watched)?;
        let marks = options.marks.then(|| marks(&recording)).flatten();
        recording.backend = Backend::Pipe;

        rings.drain();
        let (mut records, lost) = rings.take();
        records.extend(watched.records());
        let unknown = std::mem::take(&mut watched.unknown);
        let stream = Stream { period: self.period, lost, unknown, marks, ..Stream::of(&recording, records) };
        self.streams.push(stream);
        Ok(recording)
    }
}

/// The entry of the first `execve`, and the marks of a run.
fn marks(recording: &Recording) -> Option<(Nanos, Marks)> {
    let is_first = |event: &&Event| event.pid == recording.root && event.kind == EventKind::ExecEnter;
    let begun = recording.events.iter().find(is_first)?.at;
    Some((begun, Marks::of(recording).ok()?))
}
