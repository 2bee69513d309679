//! Watches the processes of a command by ptrace, for users who may not use BPF.
//!
//! A process stops when it forks, at the entry and the return of `execve`, and when it ends. Output and waits are not observed:
//! that would need a stop at every write and at every wait.

use super::follow::Follower;
use super::observers::Extent;
use super::our_stdout::OurStdout;
use super::rescue::Rescue;
use super::watch::Standstill;
use super::watch_events::{Listeners, WatchEvents};
use super::{EXIT_STATUS, Untraced, filter, meeting, met, reap, refused};
use crate::launch::{Child, Command, Foreground, LaunchError, Launcher, Preparation};
use crate::tracer::Backend;
use crate::tracer::choose::ChooseError;
use crate::tracer::watch::{EndedProgram, Scope, WatchEvent, Watcher};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread::{self, JoinHandle};

/// The most events that may wait to be taken.
const WAITING: usize = 16_384;

/// Watches a command by ptrace.
#[derive(Debug, Default)]
pub struct PtraceWatch {
    tracing: Option<Tracing>,
}

/// A command that is traced by a thread of its own.
#[derive(Debug)]
struct Tracing {
    thread: JoinHandle<Result<(), Untraced>>,
    events: Receiver<WatchEvent>,
    rescue: Arc<Rescue>,
}

impl Watcher for PtraceWatch {
    fn backend(&self) -> Backend {
        Backend::Ptrace
    }

    fn start(&mut self, command: &Command, stdout_to_stderr: bool) -> Result<Foreground, LaunchError> {
        let mut launcher = Launcher::new(command.clone())?;
        let (ours, childs) = meeting()?;
        let tracers_end = ours.as_raw_fd();
        let ((sender, events), (begun, has_begun), (ended, end)) =
            (sync_channel(WAITING), channel(), channel());
        let listeners = Listeners { events: sender, begun, ended };
        let rescue = Arc::<Rescue>::default();
        let shared = Arc::clone(&rescue);
        let thread = thread::Builder::new()
            .name("ptrace".to_owned())
            .spawn(move || trace(ours, listeners, &shared))
            .map_err(|cause| LaunchError::Resource { what: "a thread", cause })?;

        let filter = filter::execs();
        let preparation = Preparation::Ptrace { meeting: childs.as_fd(), tracers_end, filter: Some(&filter) };
        let created = launcher.launch_in_foreground(stdout_to_stderr, preparation);
        drop(childs); // this tells the tracing thread if the child has died
        let child = created?;

        if has_begun.recv().is_err() {
            return Err(failure(&launcher, &child, thread));
        }
        self.tracing = Some(Tracing { thread, events, rescue });
        Ok(Foreground::traced(&child, end))
    }

    fn watch_everyone(&mut self, _scope: Scope) -> Result<(), ChooseError> {
        Err(ChooseError::OnlyACommand)
    }

    fn take(&mut self) -> Vec<WatchEvent> {
        self.tracing.iter().flat_map(|tracing| tracing.events.try_iter()).collect()
    }

    fn lost(&self) -> u64 {
        0
    }

    fn slow_calls(&self) -> Option<&str> {
        None
    }

    fn is_one_exiting(&self) -> bool {
        false
    }

    fn is_needed(&self) -> bool {
        self.tracing.as_ref().is_some_and(|tracing| !tracing.thread.is_finished())
    }

    fn running(&self) -> Vec<EndedProgram> {
        Vec::new()
    }
}

impl Drop for PtraceWatch {
    /// What is left could not execute programs without a tracer, so it ends.
    fn drop(&mut self) {
        if let Some(tracing) = self.tracing.as_ref().filter(|tracing| !tracing.thread.is_finished()) {
            tracing.rescue.ask();
        }
    }
}

/// Runs on a thread of its own: seizes the command and follows it, and all that it creates, to the end.
fn trace(mut meeting: File, listeners: Listeners, rescue: &Rescue) -> Result<(), Untraced> {
    rescue.is_for_this_thread();
    let command = met(&mut meeting)?;
    let events = WatchEvents::new(command.0, listeners);
    let standstill = Standstill::default();
    let follower =
        Follower::new(command, OurStdout::Unknown, Extent::Phases { marks: false }, &standstill, rescue);
    let _ = meeting.write_all(&[1]); // if the child has died meanwhile, the wait reports it
    drop(meeting);
    follower.watching(events).follow().map(|_| ()).map_err(Untraced::Lost)
}

/// Why the command was not executed.
fn failure(launcher: &Launcher, child: &Child, thread: JoinHandle<Result<(), Untraced>>) -> LaunchError {
    let traced = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if matches!(traced, Err(Untraced::Died | Untraced::Refused(_))) {
        reap(child.pid);
    }
    match (traced, launcher.failure()) {
        (Err(Untraced::Refused(cause)), _) => refused(launcher, cause),
        (_, Some(failure)) => failure,
        (Err(Untraced::Lost(cause)), None) => LaunchError::Resource { what: EXIT_STATUS, cause },
        (_, None) => LaunchError::resource(EXIT_STATUS),
    }
}
