//! Backends that observe one run and produce one event vocabulary.
//!
//! [`event`] is the vocabulary, [`Recording`] is everything that was observed of one run, and every backend is a
//! [`Tracer`]. `bpf` sees the most at the lowest cost, [`ptrace`] needs no privilege, and [`pipe`] attaches nothing
//! and sees the least.
//!
//! There are two modes: [`phases`] records only the events that bound the phases, [`full`] records every system
//! call and, with `bpf`, every page fault and context switch. Besides them, [`watch`] is what is seen of all the
//! programs that a command or the machine starts.

mod awaited_mark;
#[cfg(feature = "bpf")]
pub mod bpf;
pub mod choose;
pub mod event;
pub mod full;
pub mod listening;
pub mod module;
pub mod phases;
pub mod pipe;
pub mod probe;
pub mod ptrace;
pub mod recording;
pub mod replay;
pub mod starts;
pub mod watch;
pub mod watcher;

pub use crate::arch::{Abi, Syscall};
pub use choose::{BackendChoice, ChooseError};
pub use event::{Event, EventKind};
pub use recording::{Backend, Output, Recording};

use crate::launch::interrupt;
use crate::launch::port::is_listened_to;
use crate::launch::wait::{Ended, Watch, until_reaped};
use crate::launch::{Child, Collected, LaunchError, Launcher, OutputKind, Stdout, Until, tree};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How to make a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The kind of stdout that the tracee gets.
    pub output: OutputKind,
    /// The file of [`OutputKind::File`]; `None`: a temporary one.
    pub kept: Option<PathBuf>,
    /// The bytes that it must print, if they are known.
    pub expected: Option<Arc<[u8]>>,
    /// After this time the whole process group is killed.
    pub timeout: Option<Duration>,
    /// Ends the run at this moment, before the program ends. The program is then stopped.
    pub until: Option<Until>,
    /// Texts whose places in the output are wanted: each is looked for after the one before.
    pub texts: Vec<Arc<[u8]>>,
    /// Look for marks where that costs something: where only the phases are observed.
    pub marks: bool,
}

impl RunOptions {
    /// Opens a fresh stdout for one run that is observed without its marks.
    fn stdout(&self) -> Result<Stdout, LaunchError> {
        match self.until {
            Some(Until::Mark(_)) => Err(LaunchError::MarksUnseen),
            _ => self.marked_stdout(),
        }
    }

    /// Opens a fresh stdout for one run that may end at a mark.
    fn marked_stdout(&self) -> Result<Stdout, LaunchError> {
        if let Some(Until::Port(port)) = self.until
            && is_listened_to(port)
        {
            return Err(LaunchError::PortInUse { port });
        }
        let mut stdout = Stdout::open(self.output, self.kept.as_deref(), self.expected.clone())?;
        if let Some(until) = &self.until {
            stdout.end_at(until.clone())?;
        }
        if !self.texts.is_empty() {
            stdout.look_for(self.texts.clone());
        }
        Ok(stdout)
    }
}

/// A backend: observes one run of a launcher's command.
pub trait Tracer {
    /// Identifies the backend.
    fn backend(&self) -> Backend;

    /// Attaches what must be attached before traced runs.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    fn attach(&mut self) -> Result<(), ChooseError> {
        Ok(())
    }

    /// Detaches it, so that untraced runs are really untraced.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    fn detach(&mut self) -> Result<(), ChooseError> {
        Ok(())
    }

    /// Whether a run takes longer while it is attached.
    fn has_overhead(&self) -> bool {
        !self.backend().attaches_nothing()
    }

    /// How many events were missed since the first run or since the last call, at most, besides those that recordings
    /// count. It is not known which runs they belong to.
    fn missed(&mut self) -> u64 {
        0
    }

    /// Launches the command, observes it until it has been reaped, and leaves none of its processes behind.
    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError>;
}

/// What it costs the tracee that one event with a beginning and an end is observed, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventCost {
    /// Outside of the recorded interval, before its beginning and after its end.
    pub around: f64,
    /// Between its recorded beginning and end, less what the event itself takes outside of them: the entry into the kernel
    /// and the return lie there. Negative if these take longer than the observation within the interval.
    pub within: f64,
}

impl EventCost {
    /// What the event takes longer in all.
    pub fn total(self) -> f64 {
        self.around + self.within
    }
}

/// What it costs the tracee that single events are observed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventCosts {
    /// A system call.
    pub syscall: EventCost,
    /// A page fault.
    pub fault: EventCost,
    /// A read from the tracee's memory during a call: a path, a structure, a buffer, or the top of its stack. Nanoseconds.
    pub read: f64,
}

/// Waits for the end of a run whose processes no tracer counted, and kills those that are left. Those that left the tracee's
/// group are our children now, if we adopt orphans.
fn until_cleared(
    launcher: &mut Launcher,
    options: &RunOptions,
    child: &Child,
    stdout: &mut Stdout,
    watch: Watch,
) -> Result<Ended, LaunchError> {
    let ended = until_reaped(child, stdout, watch, options.timeout);
    launcher.learn(stdout);
    let childless = ended.as_ref().is_ok_and(|ended| ended.childless);
    let cleared = if childless { Ok(()) } else { tree::kill_adopted() };
    let ended = ended?;
    cleared.map(|()| ended)
}

/// The part of a recording that is the same for every backend.
fn frame(
    backend: Backend,
    launcher: &Launcher,
    options: &RunOptions,
    child: &Child,
    ended: &Ended,
    collected: Collected,
) -> Recording {
    let ours = |at, kind| Event { at, pid: 0, tid: 0, kind };
    let mut events = vec![ours(child.spawned, EventKind::Spawn)];
    if let Some((at, bytes)) = collected.first_read {
        events.push(ours(at, EventKind::FirstRead { bytes }));
    }
    if let Some((at, sign)) = collected.reached {
        events.push(ours(at, EventKind::Reached { sign: Some(sign) }));
    }
    events.push(ours(ended.reaped, EventKind::Reaped { status: ended.status }));

    let seen = options.output.is_read();
    Recording {
        backend,
        command: launcher.command().words(),
        root: child.pid.cast_unsigned(),
        events,
        lost: 0,
        exit: ended.exit(),
        output: Output {
            bytes: seen.then_some(collected.bytes),
            // A program may write a place in a file twice, such as a header that it completes at the end.
            exact: options.output == OutputKind::Pipe,
            rewritable: options.output == OutputKind::File,
            ok: (seen && options.expected.is_some()).then_some(!collected.differs),
            head: collected.head,
            places: collected.places,
            stderr: collected.stderr,
        },
        killed: ended.killed,
        usage: ended.usage,
        left_behind: ended.left_behind,
        suspended: interrupt::continued_since(child.spawned),
        late: false,
    }
}
