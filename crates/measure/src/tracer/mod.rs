//! Backends that observe one run and produce one event vocabulary.
//!
//! [`event`] is the vocabulary, [`recording`] what one run's observation amounts to; [`Tracer`] is what every backend
//! is. [`bpf`] sees the most at the least cost, [`ptrace`] needs no privilege, [`pipe`] sees the least and attaches
//! nothing.

#[cfg(feature = "bpf")]
pub mod bpf;
pub mod choose;
pub mod event;
pub mod full;
pub mod module;
pub mod phases;
pub mod pipe;
pub mod probe;
pub mod ptrace;
pub mod recording;
pub mod replay;

pub use crate::arch::{Abi, Syscall};
pub use choose::Choice;
pub use event::{Event, EventKind};
pub use recording::{Backend, Output, Recording};

use crate::launch::wait::Ended;
use crate::launch::{Child, Collected, LaunchError, Launcher, OutputKind, Stdout, Until};
use std::sync::Arc;
use std::time::Duration;

/// How a run is to be made.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// What the tracee's stdout is.
    pub output: OutputKind,
    /// The bytes that it must print, where they are known.
    pub expected: Option<Arc<[u8]>>,
    /// After this long its whole process group is killed.
    pub timeout: Option<Duration>,
    /// What in its output ends the run, though the program goes on; it is then stopped.
    pub until: Option<Until>,
}

impl Setting {
    /// A fresh stdout for one run.
    fn stdout(&self) -> Result<Stdout, LaunchError> {
        let mut stdout = Stdout::open(self.output, self.expected.clone())?;
        if let Some(until) = &self.until {
            stdout.end_at(until.clone());
        }
        Ok(stdout)
    }
}

/// A backend: observes one run of a launcher's command.
pub trait Tracer {
    /// Which backend this is.
    fn backend(&self) -> Backend;

    /// Launches the command, observes it until it has been reaped, and leaves no process of it behind.
    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError>;
}

/// What every backend knows of a run that has ended: the frame in which its events are set.
fn frame(
    backend: Backend,
    launcher: &Launcher,
    setting: &Setting,
    child: &Child,
    ended: &Ended,
    collected: Collected,
) -> Recording {
    let ours = |at, kind| Event { at, pid: 0, tid: 0, kind };
    let mut events = vec![ours(child.spawned, EventKind::Spawn)];
    if let Some((at, bytes)) = collected.first_read {
        events.push(ours(at, EventKind::FirstRead { bytes }));
    }
    if let Some(at) = collected.reached {
        events.push(ours(at, EventKind::Reached));
    }
    events.push(ours(ended.reaped, EventKind::Reaped { status: ended.status }));
    let seen = setting.output != OutputKind::Null;
    Recording {
        backend,
        command: launcher.command().words(),
        root: child.pid.cast_unsigned(),
        events,
        lost: 0,
        exit: ended.exit(),
        output: Output {
            bytes: seen.then_some(collected.bytes),
            // in a file a program may write the same place again, as it does with a header that it completes at last
            exact: setting.output == OutputKind::Pipe,
            rewritable: setting.output == OutputKind::File,
            ok: (seen && setting.expected.is_some()).then_some(!collected.differs),
            head: collected.head,
        },
        killed: ended.killed,
        usage: ended.usage,
        left_behind: ended.left_behind,
    }
}
