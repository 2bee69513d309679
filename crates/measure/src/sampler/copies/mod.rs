//! Samples a run without stopping it: the kernel copies what a reader of frames needs, at each sample.
//!
//! A stop costs several times as much as a sample of the kernel, because two processes have to be woken. With the rights for
//! it, a BPF program runs at each sample. It copies the stack and those objects of the interpreter to which the stack leads
//! (`tracer/bpf/samples.bpf.c`). The same readers as for stops read these copies after the run.

mod parts;
#[cfg(test)]
mod tests;

use self::parts::{Constants, Known, Objects};
use super::frames::frame::{RawFrame, STACK, Stopped};
use super::frames::images::Executable;
use super::frames::interpreter::Interpreter;
use super::frames::memory::Reader;
use super::language::LanguageStack;
use super::record::{Mapping, Record, StackSample, TaskEvent};
use super::rings::Rings;
use super::{FrameSampler, MIN_PERIOD, SamplerError, Stream, cost, next_period};
use crate::launch::{LaunchError, Launcher};
use crate::tracer::bpf::samples::{BpfSamples, Copied};
use crate::tracer::bpf::samples_session::{IMAGES, Image};
use crate::tracer::choose::ChooseError;
use crate::tracer::{Backend, Recording, RunOptions, Tracer};
use crate::units::Nanos;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Of a hundred samples, at most one may lack something.
const MOST_MISSING: u64 = 100;

/// Samples runs while it is attached.
#[derive(Debug)]
pub(super) struct CopySampler {
    period: Nanos,
    /// On a busy machine, copies seem to take several times as long as they do.
    longest: Nanos,
    /// What a sample without copies costs.
    interrupt: Nanos,
    runs: u32,
    random: fastrand::Rng,
    program: BpfSamples,
    interpreters: Vec<Executable>,
    rings: Option<Rings>,
    streams: Vec<Stream>,
    seen: Seen,
}

/// How many samples there were.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Of processes that execute one of the interpreters.
    interpreted: u64,
    /// For which there was no room, of which not all objects were copied, or could not be read.
    missing: u64,
}

impl CopySampler {
    /// A sampler that is not attached yet. `None`: the kernel, our rights or one of the interpreters does not allow it.
    pub(super) fn new(seed: u64, interpreters: &[PathBuf]) -> Option<CopySampler> {
        if interpreters.is_empty() || interpreters.len() > IMAGES {
            return None;
        }
        let interpreters = interpreters.iter().map(|path| Executable::read(path));
        Some(CopySampler {
            period: MIN_PERIOD,
            longest: MIN_PERIOD,
            interpreters: interpreters.collect::<Option<Vec<_>>>()?,
            program: BpfSamples::load().ok()?,
            interrupt: cost::cost_of_sample().ok()?,
            runs: 0,
            random: fastrand::Rng::with_seed(seed),
            rings: None,
            streams: Vec::new(),
            seen: Seen::default(),
        })
    }

    /// From the next run on, samples are no more frequent than what they have cost allows.
    fn learn(&mut self, (time, samples): (Nanos, u64)) {
        if let Some(copying) = time.0.checked_div(samples) {
            let shortest = super::shortest_period_of(Nanos(self.interrupt.0 + copying));
            self.period = self.period.max(shortest.min(self.longest));
        }
    }
}

impl FrameSampler for CopySampler {
    /// As if to copy took as long again.
    fn shortest_period(&self) -> Nanos {
        super::shortest_period_of(Nanos(2 * self.interrupt.0))
    }

    fn use_period(&mut self, period: Nanos, longest: Nanos) {
        self.period = period.max(MIN_PERIOD);
        self.longest = longest;
    }

    fn take(&mut self) -> Option<Vec<Stream>> {
        let Seen { interpreted, missing } = std::mem::take(&mut self.seen);
        let streams = std::mem::take(&mut self.streams);
        (interpreted > MOST_MISSING * missing).then_some(streams)
    }
}

impl Tracer for CopySampler {
    fn backend(&self) -> Backend {
        Backend::Pipe
    }

    fn has_overhead(&self) -> bool {
        true
    }

    fn attach(&mut self) -> Result<(), ChooseError> {
        let rings = Rings::open(Some(self.period))?;
        let program = self.program.descriptor().map_err(|error| ChooseError::Switch(error.to_string()))?;
        rings.run_program(program).map_err(SamplerError::Failed)?;
        self.rings = Some(rings);
        Ok(())
    }

    fn detach(&mut self) -> Result<(), ChooseError> {
        self.rings = None;
        Ok(())
    }

    /// With a spin while it is detached, too, as [`super::Sampler`].
    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        let period = next_period(self.period, self.runs);
        self.runs = self.runs.wrapping_add(1);
        if self.rings.is_some() {
            let images: Vec<Image> = self.interpreters.iter().map(|it| it.copied).collect();
            self.program.begin(fresh_run(), &images);
        }
        let spin = Nanos(self.random.u64(0..period.0));
        let (recording, of_rings) = super::spun(launcher, options, self.rings.as_ref(), period, spin)?;

        if let Some((records, lost)) = of_rings {
            let taken = self.program.take();
            self.learn(taken.cost);
            let interpreted = || taken.samples.iter().filter(|sample| sample.image.is_some());
            self.seen.interpreted += interpreted().count() as u64;
            self.seen.missing += taken.lost + interpreted().filter(|sample| sample.is_cut).count() as u64;
            let lost = lost + taken.lost;
            let (records, unread) = named(records, taken.samples, &self.interpreters);
            self.seen.missing += unread;
            self.streams.push(Stream { period, lost, ..Stream::of(&recording, records) });
        }
        Ok(recording)
    }
}

/// Another number for each run of this process: what the kernel side remembers belongs to one run.
fn fresh_run() -> u32 {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    RUNS.fetch_add(1, Ordering::Relaxed)
}

/// A process at the time of a sample.
#[derive(Clone, Debug, Default)]
struct Process {
    objects: Objects,
    interpreter: Option<Box<dyn Interpreter>>,
    /// Where its executable file is mapped.
    bias: Option<u64>,
}

/// The records with the samples, which are in order of time, and the names of their frames. Also in how many samples
/// they could not be read.
fn named(mut records: Vec<Record>, samples: Vec<Copied>, interpreters: &[Executable]) -> (Vec<Record>, u64) {
    let (mut all, mut processes, mut unread) = (Vec::new(), HashMap::new(), 0);
    records.sort_by_key(|record| record.at);
    let mut records = records.into_iter().peekable();

    for sample in samples {
        while let Some(record) = records.next_if(|record| record.at <= sample.at) {
            happened(&record, &mut processes, interpreters);
            all.push(record);
        }
        let process: &mut Process = processes.entry(sample.pid).or_default();
        let (record, of_sample) = process.sampled(sample, interpreters);
        all.push(record);
        unread += u64::from(of_sample);
    }
    all.extend(records);
    (all, unread)
}

/// What an event does to a process.
fn happened(record: &Record, processes: &mut HashMap<u32, Process>, interpreters: &[Executable]) {
    match &record.event {
        TaskEvent::Exec => {
            processes.insert(record.pid, Process::default());
        }
        TaskEvent::Fork { parent, .. } if *parent != record.pid => {
            let copy = processes.get(parent).cloned().unwrap_or_default();
            processes.insert(record.pid, copy);
        }
        TaskEvent::Mapped(Mapping { from, offset, path, .. }) => {
            // V8 maps a part of its file a second time
            let process = processes.entry(record.pid).or_default();
            let bias = || interpreters.iter().find_map(|it| it.bias(path, *from, *offset));
            process.bias = process.bias.or_else(bias);
        }
        _ => {}
    }
}

impl Process {
    /// Also tells whether something of its frames could not be read.
    fn sampled(&mut self, sample: Copied, interpreters: &[Executable]) -> (Record, bool) {
        let Copied { at, pid, tid, image, place, stack, pieces, .. } = sample;
        for (address, bytes) in pieces {
            self.objects.add(address, bytes);
        }
        let executable = image.and_then(|image| interpreters.get(image));
        let before = self.unread().unwrap_or_default();
        let language = executable.and_then(|it| self.language(it, &Stopped { place, stack: &stack }));
        let is_unread = executable.is_some() && self.unread().is_none_or(|unread| unread > before);

        let (registers, narrow) = (place.into(), place.narrow);
        let event = StackSample { registers, narrow, stack, language: language.map(Box::new) };
        (Record { at, pid, tid, event: TaskEvent::Sample(event) }, is_unread)
    }

    /// `None`: its frames are not read at all.
    fn unread(&self) -> Option<u64> {
        self.interpreter.as_ref().map(|interpreter| interpreter.unread())
    }

    /// The frames of the interpreter.
    fn language(&mut self, executable: &Executable, stopped: &Stopped<'_>) -> Option<LanguageStack> {
        let bias = self.bias?;
        if self.interpreter.is_none() {
            self.interpreter = executable.placed(bias);
        }
        let interpreter = self.interpreter.as_mut()?;
        let constants = Constants { file: Arc::clone(&executable.file), mapped: executable.constants(bias) };
        let known =
            Known { stack: (stopped.place.sp, stopped.stack), objects: &self.objects, constants: &constants };
        let frames = interpreter.frames(stopped, &mut Reader::of_parts(&known));
        let frames: Vec<_> = frames.iter().map(RawFrame::named).collect();
        (!frames.is_empty()).then(|| LanguageStack {
            interpreter: Arc::clone(&executable.path),
            joint: interpreter.joint(),
            native_is_cut: stopped.stack.len() == STACK,
            frames,
        })
    }
}
