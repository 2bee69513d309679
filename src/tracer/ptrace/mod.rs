//! The ptrace backend: any user's, on any Linux from 5.3 on.
//!
//! For the *phases* a seccomp filter picks the calls that bound them, so that a program that prints once stops six
//! times: at the entry of `execve`, at its point of no return, at its return, at the entry and return of the write,
//! and at the exit. For the *counts* ([`count`]) every system call stops, twice.
//!
//! | file | what it does |
//! |---|---|
//! | `filter` | the seccomp program |
//! | `tracee` | the requests of `ptrace(2)`, typed |
//! | `stop` | why a tracee stopped, typed |
//! | `follow` | from stop to stop, until nothing is left of the tree |
//! | `task_tree` | the threads and processes that live |
//! | `phases`, `counting` | what the stops amount to |
//! | `our_stdout` | whether a descriptor leads to the stdout that we gave |
//! | `watch` | beside it: output, time limit, interruption |
//!
//! # What it changes for the tracee
//!
//! - It is slower: each stop costs two switches of context.
//! - Set-user-id programs run without their privilege: a filter needs `no_new_privs`, and the kernel gives a traced
//!   program's exec no privilege that its tracer lacks.
//! - It cannot trace others or be traced: a program that is itself a debugger (`strace`) fails here.
//! - A process that it creates with `CLONE_UNTRACED` is not seen, and its execs and writes fail with ENOSYS.
//! - Writes by `io_uring` have no system call of their own, and are not seen.

mod abi;
mod counting;
mod filter;
mod follow;
mod our_stdout;
mod phases;
mod stop;
mod task_tree;
mod tracee;
mod watch;

use crate::bench::Counts;
use crate::launch::wait::Killed;
use crate::launch::{Child, Ended, LaunchError, Launcher, Preparation, Stdout, tree};
use crate::tracer::{Backend, EventKind, Recording, Setting, Tracer, frame};
use follow::{Extent, Followed, Follower};
use our_stdout::OurStdout;
use std::io;
use std::ptr;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use tracee::Tracee;
use watch::{Standstill, Watched};

/// Observes the phases by ptrace stops.
#[derive(Debug)]
pub struct PtraceTracer {
    filter: Vec<libc::sock_filter>,
}

impl PtraceTracer {
    /// Nothing is attached before the first run.
    pub fn new() -> PtraceTracer {
        PtraceTracer { filter: filter::program() }
    }
}

impl Default for PtraceTracer {
    fn default() -> Self {
        PtraceTracer::new()
    }
}

impl Tracer for PtraceTracer {
    fn backend(&self) -> Backend {
        Backend::Ptrace
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        let observed = observe(launcher, setting, Preparation::Ptrace(Some(&self.filter)), Extent::Phases);
        observed.map(|(recording, _)| recording)
    }
}

/// Runs a launcher's command once, and counts what it does: every system call of its tree stops. The recording has the
/// same events as the phases', at the times of a run that is many times slower.
pub fn count(launcher: &mut Launcher, setting: &Setting) -> Result<(Counts, Recording), LaunchError> {
    let (recording, counts) = observe(launcher, setting, Preparation::Ptrace(None), Extent::Counts)?;
    Ok((counts, recording))
}

fn observe(
    launcher: &mut Launcher,
    setting: &Setting,
    preparation: Preparation<'_>,
    extent: Extent,
) -> Result<(Recording, Counts), LaunchError> {
    let stdout = setting.stdout()?;
    let standstill = Standstill::default();
    let (started, starts) = channel();
    let traced = thread::scope(|scope| {
        let tracing = thread::Builder::new()
            .name("ptrace".to_owned())
            .spawn_scoped(scope, || trace(launcher, stdout, preparation, extent, &standstill, started))
            .map_err(|cause| LaunchError::Resource { what: "a thread", cause })?;
        let watched = starts.recv().ok().map(|mut watched: Watched| {
            let killed = watched.until_exited(setting.timeout, &standstill);
            (watched, killed)
        });
        let followed = tracing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        followed.map(|followed| (followed, watched))
    });
    let (followed, watched) = traced?;
    let (watched, killed) = watched.expect("what was followed had started");
    if killed == Some(Killed::Interrupted) {
        return Err(LaunchError::Interrupted);
    }
    Ok(recording(launcher, setting, watched, killed, followed))
}

/// On a thread of its own: creates the tracee, and follows it to its end.
fn trace(
    launcher: &mut Launcher,
    mut stdout: Stdout,
    preparation: Preparation<'_>,
    extent: Extent,
    standstill: &Standstill,
    started: Sender<Watched>,
) -> Result<Followed, LaunchError> {
    let kind = stdout.kind();
    let child = launcher.launch(&mut stdout, preparation)?;
    stdout.release();
    let root = seize(launcher, &child)?;
    let ours = OurStdout::of(root, kind);
    // From here on the tracee ends by itself or is killed: a failure of ours would leave it standing.
    let watched = Watched::new(child, stdout).inspect_err(|_| discard(root.0))?;
    started.send(watched).expect("the watching thread waits for this");
    drop(started);
    root.signal(libc::SIGCONT);
    let followed = Follower::new(root, ours, extent, standstill).follow();
    if let Some(failure) = launcher.failure() {
        return Err(failure);
    }
    followed.ok_or_else(|| LaunchError::resource("the exit status of the program"))
}

/// Takes hold of the child, which stops itself before its exec.
fn seize(launcher: &Launcher, child: &Child) -> Result<Tracee, LaunchError> {
    let mut status = 0;
    // SAFETY: our own child; `status` is valid.
    let waited = unsafe { libc::waitpid(child.pid, &raw mut status, libc::WUNTRACED | libc::__WALL) };
    if waited == child.pid && !libc::WIFSTOPPED(status) {
        let died = || LaunchError::resource("a process that lives");
        return Err(launcher.failure().unwrap_or_else(died));
    }
    Tracee::seize(child.pid).map_err(|cause| {
        discard(child.pid);
        refused(launcher, cause)
    })
}

fn refused(launcher: &Launcher, cause: io::Error) -> LaunchError {
    LaunchError::Step {
        program: launcher.command().program().to_owned(),
        step: "ptrace",
        cause,
        help: "run as root, or allow it: sudo sysctl kernel.yama.ptrace_scope=1",
    }
}

/// Kills and reaps a child that nobody will follow.
fn discard(pid: i32) {
    // SAFETY: our own child, which has not been reaped.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        while libc::waitpid(pid, ptr::null_mut(), libc::__WALL) < 0
            && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
    }
}

fn recording(
    launcher: &Launcher,
    setting: &Setting,
    watched: Watched,
    killed: Option<Killed>,
    followed: Followed,
) -> (Recording, Counts) {
    let Followed { status, reaped, usage, outlived, .. } = followed;
    let of_its_group = tree::clear_group(watched.child.pid);
    if outlived || of_its_group {
        tree::kill_adopted();
    }
    // what we had to kill has left nobody behind of its own
    let left_behind = killed.is_none() && (outlived || of_its_group);
    let ended = Ended { status, reaped, usage, killed, left_behind };
    let collected = watched.stdout.finish();
    let mut recording = frame(Backend::Ptrace, launcher, setting, &watched.child, &ended, collected);
    // Read when the tracee had exited, mostly: that instant means nothing.
    recording.events.retain(|event| !matches!(event.kind, EventKind::FirstRead { .. }));
    recording.events.extend(followed.events);
    recording.events.sort_by_key(|event| event.at); // stable: equal instants keep their order
    (recording, followed.counts)
}
