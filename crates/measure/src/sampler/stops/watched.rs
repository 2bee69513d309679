//! One run: what is copied at each stop.

use super::event::Event;
use crate::sampler::frames::frame::{RawFrame, STACK, Stopped};
use crate::sampler::frames::images::{Files, Image};
use crate::sampler::frames::memory::Memory;
use crate::sampler::language::{Joint, LanguageStack};
use crate::sampler::record::{Record, StackSample, TaskEvent};
use crate::tracer::ptrace::place::StoppedAt;
use crate::tracer::ptrace::stops::SampleStops;
use crate::tracer::ptrace::task_tree::Task;
use crate::tracer::ptrace::tracee::TracedThread;
use crate::units::Nanos;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::sync::Arc;

/// The threads and the samples of one run.
#[derive(Debug)]
pub(super) struct Watched<'f> {
    files: &'f mut Files,
    period: Nanos,
    random: fastrand::Rng,
    memory: Memory,
    room: Box<[u8]>,
    processes: HashMap<i32, Process>,
    threads: HashMap<i32, Thread>,
    samples: Vec<RawSample>,
    pub(super) unknown: BTreeSet<String>,
}

#[derive(Clone, Debug, Default)]
struct Process {
    image: Option<Image>,
    /// Stops without an interpreter so far. It is looked for at the first one, the second, the fourth, …
    stops: u32,
}

#[derive(Debug)]
struct Thread {
    process: i32,
    event: Event,
}

/// What was copied.
#[derive(Debug)]
struct RawSample {
    at: Nanos,
    task: Task,
    place: StoppedAt,
    stack: Box<[u8]>,
    own: Option<RawStack>,
}

/// The same in the program's own language.
#[derive(Debug)]
struct RawStack {
    interpreter: Arc<str>,
    joint: Joint,
    frames: Vec<RawFrame>,
}

impl<'f> Watched<'f> {
    pub(super) fn new(files: &'f mut Files, period: Nanos, seed: u64) -> Watched<'f> {
        Watched {
            files,
            period,
            random: fastrand::Rng::with_seed(seed),
            memory: Memory::default(),
            room: vec![0; STACK].into_boxed_slice(),
            processes: HashMap::new(),
            threads: HashMap::new(),
            samples: Vec::new(),
            unknown: BTreeSet::new(),
        }
    }

    /// The samples, with the names of their frames.
    pub(super) fn records(&self) -> Vec<Record> {
        self.samples.iter().map(RawSample::record).collect()
    }

    fn open(&mut self, task: Task) {
        let first = first_period(self.period, self.random.f64());
        // who reads the samples sees that some are missing
        if let Ok(event) = Event::open(task.thread, first) {
            self.threads.insert(task.thread, Thread { process: task.process, event });
        }
    }

    fn own(&mut self, task: Task, stopped: &Stopped<'_>, tracee: TracedThread) -> Option<RawStack> {
        let process = self.processes.entry(task.process).or_default();
        match process.image(task.process, self.files)? {
            Image::Known { interpreter, path } => {
                let source = |address: u64, room: &mut [u8]| tracee.read_memory(address, room);
                self.memory.forget();
                let frames = interpreter.frames(stopped, &mut self.memory.reader(&source));
                let stack = RawStack { interpreter: Arc::clone(path), joint: interpreter.joint(), frames };
                (!stack.frames.is_empty()).then_some(stack)
            }
            Image::Unknown(name) => {
                self.unknown.insert(name.clone());
                None
            }
        }
    }
}

impl Process {
    fn image(&mut self, id: i32, files: &mut Files) -> Option<&mut Image> {
        if self.image.is_none() {
            self.stops += 1;
            if self.stops.is_power_of_two() {
                let maps = fs::read(format!("/proc/{id}/maps")).unwrap_or_default();
                self.image = files.look(&String::from_utf8_lossy(&maps));
            }
        }
        self.image.as_mut()
    }
}

impl SampleStops for Watched<'_> {
    fn executed(&mut self, task: Task) {
        self.threads.retain(|_, thread| thread.process != task.process);
        self.processes.insert(task.process, Process::default());
        self.open(task);
    }

    fn forked(&mut self, parent: i32, child: i32) {
        let copy = self.processes.get(&parent).cloned().unwrap_or_default();
        // one that was adopted may have executed another program since
        self.processes.entry(child).or_insert(copy);
    }

    fn adopted(&mut self, child: i32) {
        self.processes.insert(child, Process::default());
    }

    fn began(&mut self, task: Task) {
        // before the tracee's first exec, our own code runs
        if self.processes.contains_key(&task.process) && !self.threads.contains_key(&task.thread) {
            self.open(task);
        }
    }

    fn sampled(&mut self, at: Nanos, task: Task, tracee: TracedThread) {
        if let Some(thread) = self.threads.get(&task.thread) {
            thread.event.set_period(next_period(self.period, self.random.f64()));
        }

        let Some(place) = tracee.registers() else { return };
        let copied = tracee.read_memory(place.sp, &mut self.room);
        let stack: Box<[u8]> = self.room[..copied].into();
        let stopped = Stopped { place, stack: &stack };
        let own = if place.narrow { None } else { self.own(task, &stopped, tracee) };
        self.samples.push(RawSample { at, task, place, stack, own });
    }

    fn gone(&mut self, task: Task) {
        self.threads.remove(&task.thread);
        if task.process == task.thread {
            self.processes.remove(&task.process);
        }
    }
}

/// How long after a stop the next one comes, from a random number below 1: between a half and one and a half of the wanted
/// period. With equal periods, a loop whose rounds are as long as a period would be stopped at the same place each time.
fn next_period(wanted: Nanos, random: f64) -> Nanos {
    Nanos::rounded((0.5 + random) * wanted.as_f64())
}

/// The same for the first stop of a thread: as if it had been stopped for ever at such distances. So stops fall on all places
/// with the same probability, one for each wanted period (Cox, "Renewal Theory", section 5.2).
fn first_period(wanted: Nanos, random: f64) -> Nanos {
    let part = if random < 0.5 { random } else { 1.5 - (2.0 * (1.0 - random)).sqrt() };
    Nanos::rounded(part * wanted.as_f64())
}

impl RawSample {
    fn record(&self) -> Record {
        let language = self.own.as_ref().map(|own| {
            let frames = own.frames.iter().map(RawFrame::named).collect();
            let (interpreter, native_is_cut) = (Arc::clone(&own.interpreter), self.stack.len() == STACK);
            Box::new(LanguageStack { interpreter, joint: own.joint, native_is_cut, frames })
        });
        let sample = StackSample {
            registers: self.place.into(),
            narrow: self.place.narrow,
            stack: self.stack.clone(),
            language,
        };
        let Task { process, thread } = self.task;
        let [pid, tid] = [process, thread].map(i32::cast_unsigned);
        Record { at: self.at, pid, tid, event: TaskEvent::Sample(sample) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Nanos = Nanos(1000);

    #[test]
    fn stops_fall_on_all_places_of_a_thread_alike() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut stops = [0_u32; 40];
        for _ in 0..40_000 {
            let mut at = first_period(WANTED, random.f64());
            while at < Nanos(4000) {
                stops[usize::try_from(at.0 / 100).unwrap()] += 1;
                at = at + next_period(WANTED, random.f64());
            }
        }
        assert!(stops.iter().all(|stops| stops.abs_diff(4000) < 300), "{stops:?}");
    }

    #[test]
    fn no_two_stops_are_closer_than_half_a_period() {
        let mut random = fastrand::Rng::with_seed(7);
        let next = |_| next_period(WANTED, random.f64());
        assert!((0..1000).map(next).all(|next| (500..=1500).contains(&next.0)));
    }
}
