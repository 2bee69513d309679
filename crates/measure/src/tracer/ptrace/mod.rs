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
//! | `phases`, `tally`, `full` | what the stops amount to |
//! | `files` | the files that it reads |
//! | `restarts` | calls that only our presence interrupts |
//! | `proc` | whether `/proc` is that of our own processes |
//! | `cpuid` | the CPUID instructions of a start |
//! | `our_stdout` | whether a descriptor leads to the stdout that we gave |
//! | `watch` | beside it: output, time limit, interruption |
//! | `rescue` | a way out of every wait |
//!
//! # What it changes for the tracee
//!
//! - It is slower: each stop costs two switches of context.
//! - Set-user-id programs run without their privilege: a filter needs `no_new_privs`, and the kernel gives a traced
//!   program's exec no privilege that its tracer lacks.
//! - It cannot trace others or be traced: a program that is itself a debugger (`strace`) fails here.
//! - A process that it creates with `CLONE_UNTRACED` is not seen, and its execs and writes fail with ENOSYS.
//! - Writes by `io_uring` have no system call of their own, and are not seen; that there may be some is (`EventKind::Ring`).

mod cpuid;
mod files;
mod filter;
mod follow;
mod full;
mod our_stdout;
mod phases;
mod proc;
mod rescue;
mod restarts;
mod stop;
mod tally;
mod task_tree;
mod tracee;
mod watch;

use crate::Counts;
use crate::launch::wait::Killed;
use crate::launch::{Child, Ended, LaunchError, Launcher, OutputKind, Preparation, Stdout, tree};
use crate::tracer::{Backend, EventKind, Recording, Setting, Tracer, frame};
pub use cpuid::{NoCpuidCount, cpuid_count};
pub use files::FilesOfRun;
use follow::{Extent, Followed, Follower};
use our_stdout::OurStdout;
pub use proc::own_proc;
use rescue::Rescue;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use tracee::Tracee;
use watch::{Standstill, Watched, until_untraced};

/// Observes the phases by ptrace stops.
#[derive(Debug)]
pub struct PtracePhases {
    filter: Vec<libc::sock_filter>,
}

impl PtracePhases {
    /// Nothing is attached before the first run.
    pub fn new() -> PtracePhases {
        PtracePhases { filter: filter::program() }
    }
}

impl Default for PtracePhases {
    fn default() -> Self {
        PtracePhases::new()
    }
}

impl Tracer for PtracePhases {
    fn backend(&self) -> Backend {
        Backend::Ptrace
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        observe(launcher, setting, Extent::Phases, Some(&self.filter)).map(|observed| observed.recording)
    }
}

/// Observes every system call whole, by two stops each.
#[derive(Clone, Copy, Debug, Default)]
pub struct PtraceFull;

impl Tracer for PtraceFull {
    fn backend(&self) -> Backend {
        Backend::Ptrace
    }

    fn run(&mut self, launcher: &mut Launcher, setting: &Setting) -> Result<Recording, LaunchError> {
        let observed = observe(launcher, setting, Extent::Full, None);
        observed.map(|observed| observed.recording)
    }
}

/// Runs a launcher's command once, and counts what it does: every system call of its tree stops. The recording has the
/// same events as the phases', at the times of a run that is many times slower.
pub fn count(launcher: &mut Launcher, setting: &Setting) -> Result<(Counts, Recording), LaunchError> {
    let observed = observe(launcher, setting, Extent::Counts, None)?;
    Ok((observed.counts, observed.recording))
}

/// Runs a launcher's command once, and finds the files that its tree executes, maps or opens: what must be in memory
/// for it to be fast.
pub fn files(launcher: &mut Launcher, setting: &Setting) -> Result<(FilesOfRun, Recording), LaunchError> {
    let observed = observe(launcher, setting, Extent::Files, None)?;
    Ok((observed.files, observed.recording))
}

/// What one run came to.
struct Observed {
    recording: Recording,
    counts: Counts,
    files: FilesOfRun,
}

/// The calling thread creates the tracee and watches it; a thread of its own traces it.
///
/// Two threads, because the one that creates it sleeps until the exec: so the tracee's first exec need not free a copy
/// of our memory, as it would after a fork, which would be counted as its own start-up.
fn observe(
    launcher: &mut Launcher,
    setting: &Setting,
    extent: Extent,
    filter: Option<&[libc::sock_filter]>,
) -> Result<Observed, LaunchError> {
    let mut stdout = setting.stdout()?;
    let (ours, childs) =
        UnixStream::pair().map_err(|cause| LaunchError::Resource { what: "a socket pair", cause })?;
    let (standstill, rescue) = (Standstill::default(), Rescue::default());
    let (seized, is_seized) = channel();
    let (child, killed, traced) = thread::scope(|scope| {
        let tracing = thread::Builder::new()
            .name("ptrace".to_owned())
            .spawn_scoped(scope, || trace(ours, setting.output, extent, (&standstill, &rescue), seized))
            .map_err(|cause| LaunchError::Resource { what: "a thread", cause })?;
        let child = launcher.launch(&mut stdout, Preparation::Ptrace { meeting: childs.as_fd(), filter });
        drop(childs); // if the child has died, the tracing thread learns of it by this
        let process = is_seized.recv().ok();
        let killed = match (&child, process) {
            (Ok(child), Some(process)) => {
                let watch = launcher.watch();
                let mut watched = Watched::new(child, &mut stdout, process, watch);
                let killed = watched.until_exited(setting.timeout, &standstill, &rescue);
                until_untraced(&is_seized, &rescue);
                killed
            }
            _ => None,
        };
        stdout.release();
        launcher.learn(&stdout);
        let traced = tracing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        child.map(|child| (child, killed, traced))
    })?;
    let followed = verdict(launcher, &child, traced);
    if killed == Some(Killed::Interrupted) {
        return Err(LaunchError::Interrupted);
    }
    observed(launcher, setting, &child, stdout, killed, followed?)
}

/// Why nothing was followed.
enum Untraced {
    /// The child died before it could be seized.
    Died,
    /// The kernel refused; the child has been killed.
    Refused(io::Error),
    /// Somebody else reaped it, or it did not die of being killed.
    Lost,
}

/// On a thread of its own: takes hold of the child, and follows its tree to the end.
fn trace(
    mut meeting: UnixStream,
    kind: OutputKind,
    extent: Extent,
    (standstill, rescue): (&Standstill, &Rescue),
    seized: Sender<OwnedFd>,
) -> Result<Followed, Untraced> {
    rescue.is_for_this_thread();
    let mut pid = [0; 4];
    meeting.read_exact(&mut pid).map_err(|_| Untraced::Died)?;
    let pid = i32::from_ne_bytes(pid);
    let held = Tracee::seize(pid).and_then(|root| Ok((root, tracee::pidfd(pid)?)));
    let (root, process) = held.map_err(|cause| {
        Tracee(pid).kill();
        Untraced::Refused(cause)
    })?;
    let stdout = OurStdout::of(root, kind);
    if extent != Extent::Phases {
        root.interrupt(); // only what has been resumed so stops at its system calls
    }
    // Whoever does not listen any more has nothing to watch: the run goes on.
    let _ = seized.send(process);
    let _ = meeting.write_all(&[1]); // a child that has died meanwhile is reported by the wait
    drop(meeting);
    let followed = Follower::new(root, stdout, extent, standstill, rescue).follow();
    drop(seized); // not before: the watching thread waits for it
    followed.ok_or(Untraced::Lost)
}

/// What came of the launch: a child that failed has told why.
fn verdict(
    launcher: &Launcher,
    child: &Child,
    traced: Result<Followed, Untraced>,
) -> Result<Followed, LaunchError> {
    if matches!(traced, Err(Untraced::Died | Untraced::Refused(_))) {
        reap(child.pid);
    }
    if matches!(traced, Err(Untraced::Lost)) {
        tree::clear_group(child.pid);
    }
    match (traced, launcher.failure()) {
        (Err(Untraced::Refused(cause)), _) => Err(refused(launcher, cause)),
        (_, Some(failure)) => Err(failure),
        (Ok(followed), None) => Ok(followed),
        (Err(_), None) => Err(LaunchError::resource("the exit status of the program")),
    }
}

fn refused(launcher: &Launcher, cause: io::Error) -> LaunchError {
    if cause.raw_os_error().is_some_and(|errno| [libc::EMFILE, libc::ENFILE].contains(&errno)) {
        return LaunchError::Resource { what: "a descriptor of the process", cause };
    }
    LaunchError::Step {
        program: launcher.command().program().to_owned(),
        step: "ptrace",
        cause,
        help: "run as root, or allow it: sudo sysctl kernel.yama.ptrace_scope=1",
    }
}

/// Reaps a child that is dead or dying, and that nobody traces.
fn reap(pid: i32) {
    // SAFETY: our own child, which has not been reaped.
    while unsafe { libc::waitpid(pid, ptr::null_mut(), libc::__WALL) } < 0
        && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
    {}
}

fn observed(
    launcher: &Launcher,
    setting: &Setting,
    child: &Child,
    stdout: Stdout,
    killed: Option<Killed>,
    followed: Followed,
) -> Result<Observed, LaunchError> {
    let Followed { status, reaped, usage, outlived, .. } = followed;
    let of_its_group = tree::clear_group(child.pid);
    if outlived || of_its_group {
        tree::kill_adopted()?;
    }
    // what we had to kill has left nobody behind of its own
    let left_behind = killed.is_none() && (outlived || of_its_group);
    let ended = Ended { status, reaped, usage, killed, left_behind };
    let mut recording = frame(Backend::Ptrace, launcher, setting, child, &ended, stdout.finish());
    // Read when the tracee had exited, mostly: that instant means nothing.
    recording.events.retain(|event| !matches!(event.kind, EventKind::FirstRead { .. }));
    recording.events.extend(followed.events);
    recording.events.sort_by_key(|event| event.at); // stable: equal instants keep their order
    Ok(Observed { recording, counts: followed.counts, files: followed.files })
}
