//! Runs the command, or waits, and takes what the watcher observes.

use super::command_lines::CommandLines;
use super::starts::{Collector, WantedStarts};
use super::summary::{Frame, document, timeline};
use super::tally::Tally;
use crate::document::machine_facts;
use crate::document::watch::{WatchDocument, WatchTimeline};
use firstbyte_measure::clock;
use firstbyte_measure::launch::{Command, LaunchError, ResolveError, interrupt};
use firstbyte_measure::machine::Machine;
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::tracer::choose::ChooseError;
use firstbyte_measure::tracer::starts::TracedStarts;
use firstbyte_measure::tracer::watch::{Scope, WantedCalls, WatchEvent, Watcher};
use firstbyte_measure::tracer::watcher::attach_watcher;
use firstbyte_measure::units::Nanos;
use serde_json::Value;
use std::ffi::OsString;
use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is watched.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A command and all processes that it starts.
    Command(Vec<OsString>),
    /// The processes of the machine in a scope, which is also described in words, until a signal or for this time.
    Machine { scope: Scope, words: String, duration: Option<Duration> },
}

#[derive(Clone, Debug)]
pub struct WatchPlan {
    pub subject: Subject,
    pub backend: BackendChoice,
    /// In bytes: the kernel's buffer and what is kept.
    pub memory: u64,
    /// What is wanted of other system calls than execs, which makes every system call of the machine slower.
    pub calls: WantedCalls,
    /// Every execution is wanted, and not only their sums.
    pub timeline: bool,
    pub command_lines: CommandLines,
    /// Some starts of one program are also traced in full.
    pub starts: Option<WantedStarts>,
    /// The command writes to our stderr, because our stdout is needed for the results.
    pub stdout_to_stderr: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel does not let us watch.
    #[error(transparent)]
    Unable(#[from] ChooseError),
    /// It lets us watch, but not trace.
    #[error("`--trace` cannot be used: {0}")]
    Tracing(ChooseError),
    /// The program does not exist, or nobody may execute it.
    #[error(transparent)]
    Program(#[from] ResolveError),
    /// The command could not be started.
    #[error(transparent)]
    Command(#[from] LaunchError),
    /// It could not be waited for.
    #[error("the exit status of the command is not available: {0}\nhelp: run it by hand")]
    Status(io::Error),
}

/// How often we take what was observed, and how often while it is much.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// An event takes less than this in the kernel's buffer, unless its command line is long.
const EVENT: u64 = 640;

/// How long we wait for the records of processes that are ending.
const SETTLING_TIMEOUT: Duration = Duration::from_secs(1);

/// The smallest and the largest buffer of the kernel.
const RING: [u64; 2] = [1 << 18, 1 << 28];

/// More programs than this are never in execution: the kernel side has room for half as many.
const MAX_EXECUTING: usize = 65_536;

/// After this many signals the command is left alone: it does not end.
const MAX_SIGNALS: u32 = 2;

/// Why the critical path is not known.
const WAITS_UNSEEN: &str = "ptrace does not show who waits for whom";
const NO_COMMAND: &str = "the machine is watched, and not a command that ends";

/// Who gets the results so far while something is watched.
pub trait Audience {
    /// Whether they are wanted now. This is asked at least every 20 ms.
    fn wants_results(&self) -> bool;

    /// Takes them. Nothing is read from the kernel's buffer meanwhile.
    fn take_results(&mut self, results: WatchDocument);
}

/// What was observed.
#[derive(Debug)]
pub struct Watched {
    pub document: WatchDocument,
    /// Empty if it was not wanted.
    pub timeline: WatchTimeline,
    /// `None` if none were wanted.
    pub starts: Option<TracedStarts>,
}

/// Watches until the end.
pub fn observe(plan: &WatchPlan, audience: &mut dyn Audience) -> Result<Watched, WatchError> {
    // without another thread, it is examined in the end
    let machine = std::thread::Builder::new().spawn(Machine::examine).ok();
    let ring = ring_size(plan.memory);
    let is_command = matches!(plan.subject, Subject::Command(_));
    let watcher = attach_watcher(plan.backend, is_command, ring, plan.calls)?;
    let starts = plan.starts.as_ref().map(|wanted| Collector::attach(wanted, plan.memory));
    let mut watch = Watch {
        watcher,
        starts: starts.transpose().map_err(WatchError::Tracing)?,
        tally: Tally::new(plan.memory.saturating_sub(ring.into()), plan.timeline, plan.command_lines.clone()),
        much: u64::from(ring) / 4 / EVENT,
    };
    let frame = match &plan.subject {
        Subject::Command(words) => watch.command(&Command::new(words)?, plan, audience)?,
        Subject::Machine { scope, words, duration } => {
            watch.watcher.watch_everyone(*scope)?;
            if let Some(starts) = &mut watch.starts {
                starts.follow(*scope);
            }
            watch.machine(words, *duration, audience)
        }
    };
    Ok(watch.results(frame, machine))
}

/// A quarter of the memory, as a power of two.
fn ring_size(memory: u64) -> u32 {
    let quarter = (memory / 4).clamp(RING[0], RING[1]);
    1 << quarter.ilog2()
}

struct Watch {
    watcher: Box<dyn Watcher>,
    starts: Option<Collector>,
    tally: Tally,
    /// This many events at once mean that the buffer fills fast.
    much: u64,
}

impl Watch {
    fn command(
        &mut self,
        command: &Command,
        plan: &WatchPlan,
        audience: &mut dyn Audience,
    ) -> Result<Frame, WatchError> {
        const SCOPE: &str = "the processes of the command";
        self.tally.find_critical_path();
        let begun = Instant::now();
        if let Some(starts) = &mut self.starts {
            starts.follow_next_child();
        }
        let mut running = self.watcher.start(command, plan.stdout_to_stderr)?;
        let mut pause = POLL_INTERVAL;
        let ended = loop {
            let ended = running.wait(pause).map_err(WatchError::Status)?;
            pause = self.take();
            self.show(audience, SCOPE, begun);
            if ended.is_some() || interrupt::count() >= MAX_SIGNALS {
                break ended;
            }
        };

        let end = ended.map_or_else(clock::now, |(_, at)| at);
        Ok(Frame {
            command: Some(plan.command_lines.of_command(&command.words())),
            scope: SCOPE.to_owned(),
            exit: ended.map(|(status, _)| status),
            wall: end.since(running.started()).unwrap_or_default(),
            partial: interrupt::interrupted().is_some(),
            lost: 0,
            backend: self.watcher.backend(),
            slow_calls: self.watcher.slow_calls().map(str::to_owned),
            waits_unknown: self.watcher.backend().stops_tracee().then_some(WAITS_UNSEEN),
        })
    }

    fn machine(&mut self, words: &str, duration: Option<Duration>, audience: &mut dyn Audience) -> Frame {
        let (begun, mut pause) = (Instant::now(), POLL_INTERVAL);
        let is_over = || duration.is_some_and(|limit| begun.elapsed() >= limit);
        while !is_over() && interrupt::interrupted().is_none() {
            clock::pause(pause);
            pause = self.take();
            self.show(audience, words, begun);
        }

        // Without a limit, a signal is the usual end.
        let partial = duration.is_some() && interrupt::interrupted().is_some();
        Frame { partial, ..self.frame(words, begun) }
    }

    fn show(&self, audience: &mut dyn Audience, scope: &str, begun: Instant) {
        if audience.wants_results() {
            audience.take_results(document(&self.tally, self.frame(scope, begun), Value::Null));
        }
    }

    fn frame(&self, scope: &str, begun: Instant) -> Frame {
        Frame {
            command: None,
            scope: scope.to_owned(),
            exit: None,
            wall: Nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            partial: false,
            lost: self.watcher.lost(),
            backend: self.watcher.backend(),
            slow_calls: self.watcher.slow_calls().map(str::to_owned),
            waits_unknown: Some(NO_COMMAND),
        }
    }

    /// Adds what was observed. Returns the pause until the next call.
    fn take(&mut self) -> Duration {
        let events = self.watcher.take();
        for event in &events {
            self.tally.add(event);
        }
        self.forget_the_lost();
        let soon = self.starts.as_mut().is_some_and(Collector::look);
        if soon || events.len() as u64 > self.much { BUSY_POLL_INTERVAL } else { POLL_INTERVAL }
    }

    /// Programs whose ends were lost would otherwise stay, and a watch may run for months.
    fn forget_the_lost(&mut self) {
        if self.tally.in_execution() > MAX_EXECUTING {
            self.tally.keep_only(&self.watcher.running().iter().map(|running| running.pid).collect());
        }
    }

    fn results(mut self, frame: Frame, machine: Option<JoinHandle<Machine>>) -> Watched {
        while self.watcher.is_needed() && interrupt::count() < MAX_SIGNALS {
            clock::pause(POLL_INTERVAL);
            self.take();
        }
        let until = Instant::now() + SETTLING_TIMEOUT;
        while self.watcher.is_one_exiting() && Instant::now() < until {
            clock::pause(BUSY_POLL_INTERVAL);
            self.take();
        }
        self.take();
        for running in self.watcher.running() {
            self.tally.add(&WatchEvent::Ended(running));
        }
        self.tally.finish();
        let frame = Frame { lost: self.watcher.lost(), ..frame };
        let machine = machine.and_then(|machine| machine.join().ok()).unwrap_or_else(Machine::examine);
        let machine = machine_facts(&machine);
        Watched {
            document: document(&self.tally, frame, machine),
            timeline: timeline(&self.tally),
            starts: self.starts.map(Collector::finish),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_memory_is_the_kernels_buffer() {
        let sizes = [1 << 20, 64 << 20, 100 << 20, 1 << 40].map(ring_size);
        assert_eq!(sizes, [1 << 18, 16 << 20, 16 << 20, 1 << 28]);
    }
}
