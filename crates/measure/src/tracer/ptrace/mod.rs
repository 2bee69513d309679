//! The ptrace backend: for any user, on Linux 5.3 or later.
//!
//! For the *phases* a seccomp filter stops the tracee only at the calls that bound them. A program that prints once stops
//! six times: at the entry of `execve`, when the old image is gone, at the return of `execve`, at the entry and the return
//! of the write, and at the exit. A program that is known to run alone stops once ([`light`]). For the *counts* ([`count`]) every system call stops twice.
//!
//! | file | what it does |
//! |---|---|
//! | `filter` | the seccomp program |
//! | `tracee` | the requests of `ptrace(2)`, typed |
//! | `stop` | why a tracee stopped, typed |
//! | `reports` | waits for the next stop of any tracee |
//! | `follow` | follows the tree from stop to stop until nothing of it is left |
//! | `stops` | what a sampler hears of them |
//! | `light` | a program that runs alone, at a single stop |
//! | `task_tree` | the threads and processes that are alive |
//! | `phases`, `tally`, `full` | turn stops into events and counts |
//! | `processor` | how long threads have had a processor |
//! | `contents` | what the buffers among the arguments of a call contain |
//! | `files_of_run` | the files that the run uses |
//! | `restarts` | calls that are interrupted only because we trace |
//! | `proc` | whether `/proc` shows our own processes |
//! | `cpuid_count` | the CPUID instructions at a program's start |
//! | `our_stdout` | whether a descriptor leads to the stdout that we gave the tracee |
//! | `watch` | meanwhile: output, time limit, interruption |
//! | `watcher`, `watch_events` | all programs of a command, for `firstbyte watch` |
//! | `rescue` | ends waits that would not end by themselves |
//!
//! # What tracing changes for the tracee
//!
//! - It is slower: each stop costs two context switches.
//! - Set-user-ID programs run without their privileges: a filter needs `no_new_privs`, and the exec of a traced program
//!   gets no privilege that its tracer lacks.
//! - It cannot trace other programs or be traced. A program that is itself a debugger (`strace`) fails.
//! - A process that it creates with `CLONE_UNTRACED` is not seen, and its execs and writes fail with ENOSYS.
//! - Writes by `io_uring` are not system calls and are not seen. That they are possible is recorded (`EventKind::Ring`).

mod contents;
mod cpuid_count;
mod files_of_run;
mod filter;
mod follow;
mod full;
mod light;
mod observers;
mod our_stdout;
mod phases;
pub(crate) mod place;
mod proc;
mod processor;
mod reports;
mod rescue;
mod restarts;
mod stop;
pub(crate) mod stops;
mod tally;
pub(crate) mod task_tree;
pub(crate) mod tracee;
mod watch;
mod watch_events;
mod watcher;

use crate::Counts;
use crate::confinement::Confinement;
use crate::launch::ready::ChildEnd;
use crate::launch::wait::Killed;
use crate::launch::{Child, Ended, LaunchError, Launcher, OutputKind, Preparation, Stdout, limits, tree};
use crate::tracer::awaited_mark::AwaitedMark;
use crate::tracer::event::WantedContents;
use crate::tracer::{Backend, EventKind, Recording, RunOptions, Tracer, frame};
pub use cpuid_count::{NoCpuidCount, cpuid_count};
pub use files_of_run::{FilesOfRun, LastExec};
use follow::{Followed, Follower};
use observers::Extent;
use our_stdout::OurStdout;
pub use proc::own_proc;
use rescue::Rescue;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;
use stops::SampleStops;
use tracee::TracedThread;
use watch::{Standstill, Watched, until_untraced};
pub use watcher::PtraceWatch;

/// Observes the phases by ptrace stops.
#[derive(Debug)]
pub struct PtracePhases {
    filter: Vec<libc::sock_filter>,
    /// The same for runs whose marks are wanted.
    with_lookups: Vec<libc::sock_filter>,
}

impl PtracePhases {
    /// A tracer that attaches nothing before its first run.
    pub fn new() -> PtracePhases {
        PtracePhases { filter: filter::program(), with_lookups: filter::with_lookups() }
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

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        if light::is_enough(launcher, options) {
            return light::run(launcher, options);
        }
        let marks = options.marks;
        let filter = if marks { &self.with_lookups } else { &self.filter };
        let observed = observe(launcher, options, Extent::Phases { marks }, Some(filter), None)?;
        launcher.learn_whether_alone(light::was_alone(&observed.recording));
        Ok(observed.recording)
    }
}

/// Observes every system call by two stops each.
#[derive(Clone, Copy, Debug, Default)]
pub struct PtraceFull {
    /// Which contents of buffers it records.
    pub contents: WantedContents,
}

impl Tracer for PtraceFull {
    fn backend(&self) -> Backend {
        Backend::Ptrace
    }

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        let observed = observe(launcher, options, Extent::Full(self.contents), None, None);
        observed.map(|observed| observed.recording)
    }
}

/// Runs a launcher's command once and counts what it does. Every system call of its tree stops. The recording has
/// the same events as that of the phases, with the times of a run that is many times slower.
pub fn count(launcher: &mut Launcher, options: &RunOptions) -> Result<(Counts, Recording), LaunchError> {
    let observed = observe(launcher, options, Extent::Counts, None, None)?;
    Ok((observed.counts, observed.recording))
}

/// Runs a launcher's command once and finds the files that its tree executes, maps or opens, which must be in
/// memory for a fast start.
pub fn files(launcher: &mut Launcher, options: &RunOptions) -> Result<(FilesOfRun, Recording), LaunchError> {
    let observed = observe(launcher, options, Extent::Files, None, None)?;
    Ok((observed.files, observed.recording))
}

/// Runs a launcher's command once for a sampler. The recording has nothing but its beginning and its end, and if marks are
/// wanted what [`PtracePhases`] records.
pub(crate) fn sample(
    launcher: &mut Launcher,
    options: &RunOptions,
    sampler: &mut dyn SampleStops,
) -> Result<Recording, LaunchError> {
    let filter = options.marks.then(filter::with_lookups);
    let extent = Extent::Samples { marks: options.marks };
    let observed = observe(launcher, options, extent, filter.as_deref(), Some(sampler))?;
    Ok(observed.recording)
}

/// Everything that was observed of one run.
struct Observed {
    recording: Recording,
    counts: Counts,
    files: FilesOfRun,
}

/// The calling thread creates the tracee and watches it; another thread traces it.
///
/// There are two threads because the one that creates the tracee sleeps until the exec. So the tracee shares our
/// memory until then, and its first exec does not have to free a copy of it, as it would after a fork. That would
/// count as the tracee's own start-up.
fn observe(
    launcher: &mut Launcher,
    options: &RunOptions,
    extent: Extent,
    filter: Option<&[libc::sock_filter]>,
    sampler: Option<&mut dyn SampleStops>,
) -> Result<Observed, LaunchError> {
    let mut stdout = options.marked_stdout()?;
    let mark = AwaitedMark::of(options, &stdout);
    let (ours, childs) = meeting()?;
    let tracers_end = ours.as_raw_fd();
    let (standstill, rescue) = (Standstill::default(), Rescue::default());
    let (seized, is_seized) = channel();
    // A new thread of Rust's library panics without memory for its second stack.
    limits::restore_memory()?;

    let (child, killed, traced) = thread::scope(|scope| {
        let tracing = thread::Builder::new()
            .name("ptrace".to_owned())
            .spawn_scoped(scope, || {
                // for as long as the others live that the tracing thread borrows
                let sampler = sampler.map(|sampler| sampler as &mut dyn SampleStops);
                trace(ours, options.output, (extent, mark), sampler, (&standstill, &rescue), seized)
            })
            .map_err(|cause| LaunchError::Resource { what: "a thread", cause })?;

        let child = launcher
            .launch(&mut stdout, Preparation::Ptrace { meeting: childs.as_fd(), tracers_end, filter });
        drop(childs); // this tells the tracing thread if the child has died
        let process = is_seized.recv().ok();
        let killed = match (&child, process) {
            (Ok(child), Some(())) => {
                let mut watched = Watched::new(child, &mut stdout, launcher.watch());
                let killed = watched.until_exited(options.timeout, &standstill, &rescue, &is_seized);
                until_untraced(&is_seized, &rescue);
                killed
            }
            _ => None,
        };

        stdout.release();
        let traced = tracing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        stdout.drain();
        launcher.learn(&mut stdout);
        child.map(|child| (child, killed, traced))
    })?;

    let followed = verdict(launcher, &child, traced);
    if killed == Some(Killed::Interrupted) && !matches!(followed, Err(LaunchError::Unkillable { .. })) {
        return Err(LaunchError::Interrupted);
    }
    observed(launcher, options, &child, stdout, killed, followed?)
}

/// Why the tracee was not followed.
#[derive(Debug)]
enum Untraced {
    /// The child died before it could be seized.
    Died,
    /// The kernel refused, and the child has been killed.
    Refused(io::Error),
    /// Its end was not seen, for this reason.
    Lost(io::Error),
}

/// Runs on a thread of its own: seizes the child and follows its tree to the end.
fn trace<'r>(
    mut meeting: File,
    kind: OutputKind,
    (extent, mark): (Extent, Option<AwaitedMark>),
    sampler: Option<&'r mut dyn SampleStops>,
    (standstill, rescue): (&'r Standstill, &'r Rescue),
    seized: Sender<()>,
) -> Result<Followed, Untraced> {
    rescue.is_for_this_thread();
    let root = met(&mut meeting)?;
    let stdout = OurStdout::of(root, kind);
    if !matches!(extent, Extent::Phases { .. } | Extent::Samples { .. }) {
        root.interrupt(); // only a tracee that is resumed in this way stops at its system calls
    }

    // If the watching thread no longer listens, it has nothing to watch. The run continues.
    let _ = seized.send(());
    let _ = meeting.write_all(&[1]); // if the child has died meanwhile, the wait reports it
    drop(meeting);

    let mut tracee = Follower::new(root, stdout, extent, standstill, rescue);
    tracee.await_mark(mark);
    tracee.sample(sampler);
    let followed = tracee.follow();
    drop(seized); // not earlier: the watching thread waits for it
    followed.map_err(Untraced::Lost)
}

/// The two ends where a child meets its tracer: the tracer's and the child's.
fn meeting() -> Result<(File, OwnedFd), LaunchError> {
    let pair = UnixStream::pair().map_err(|cause| LaunchError::Resource { what: "a socket pair", cause });
    pair.map(|(ours, childs)| (File::from(OwnedFd::from(ours)), OwnedFd::from(childs)))
}

/// Seizes the child that has come to the meeting. It waits there for one byte.
fn met(meeting: &mut File) -> Result<TracedThread, Untraced> {
    let mut pid = [0; 4];
    meeting.read_exact(&mut pid).map_err(|_| Untraced::Died)?;
    let pid = i32::from_ne_bytes(pid);
    // A signal to 0 or less goes to many processes, and to -1 to all of them (`kill(2)`).
    if pid <= 1 {
        return Err(Untraced::Died);
    }
    TracedThread::seize(pid).map_err(|cause| {
        TracedThread(pid).kill();
        Untraced::Refused(cause)
    })
}

/// The result of the launch, or the reason that a child left when it failed.
fn verdict(
    launcher: &Launcher,
    child: &Child,
    traced: Result<Followed, Untraced>,
) -> Result<Followed, LaunchError> {
    if matches!(traced, Err(Untraced::Died | Untraced::Refused(_))) {
        reap(child.pid);
    }
    if matches!(traced, Err(Untraced::Lost(_))) {
        tree::clear_group(child.pid);
        if !ChildEnd::of(child.pid).wait([-1; 3], Duration::ZERO).0 {
            let cause = io::Error::other("it was sent SIGKILL, and has not died");
            return Err(LaunchError::unkillable(child.pid, cause));
        }
    }
    match (traced, launcher.failure()) {
        (Err(Untraced::Refused(cause)), _) => Err(refused(launcher, cause)),
        (_, Some(failure)) => Err(failure),
        (Ok(followed), None) => Ok(followed),
        (Err(Untraced::Lost(cause)), None) => Err(LaunchError::Resource { what: EXIT_STATUS, cause }),
        (Err(Untraced::Died), None) => Err(LaunchError::resource(EXIT_STATUS)),
    }
}

const EXIT_STATUS: &str = "the exit status of the program";

fn refused(launcher: &Launcher, cause: io::Error) -> LaunchError {
    let scope = "run as root, or allow it: sudo sysctl kernel.yama.ptrace_scope=1".to_owned();
    LaunchError::Step {
        program: launcher.command().program().to_owned(),
        step: "ptrace",
        cause,
        help: Confinement::examine().of_ptrace().map_or(scope, |by_filter| by_filter.help).into(),
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
    options: &RunOptions,
    child: &Child,
    stdout: Stdout,
    killed: Option<Killed>,
    followed: Followed,
) -> Result<Observed, LaunchError> {
    let Followed { status, reaped, usage, outlived, .. } = followed;
    let of_its_group = tree::clear_group(child.pid);
    // always: a process that was created with CLONE_UNTRACED is not in the tree that we followed
    tree::kill_adopted()?;

    // If we had to kill the tracee, it has left nothing behind by itself.
    let left_behind = killed.is_none() && (outlived || of_its_group);
    let ended = Ended { status, reaped, usage, killed, left_behind, slept: [None; 2], childless: false };
    let mut recording = frame(Backend::Ptrace, launcher, options, child, &ended, stdout.finish());

    // Mostly read after the tracee has exited, so the instant means nothing.
    recording.events.retain(|event| !matches!(event.kind, EventKind::FirstRead { .. }));
    recording.events.extend(followed.events);
    recording.end_at_listen();
    recording.events.sort_by_key(|event| event.at); // stable: events at the same instant keep their order

    Ok(Observed { recording, counts: followed.counts, files: followed.files })
}
