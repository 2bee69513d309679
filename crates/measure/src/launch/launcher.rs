//! Creates the tracee's process with vfork semantics.
//!
//! `clone(CLONE_VM | CLONE_VFORK)` copies no page tables, so the size of our own process costs nothing, and we
//! sleep until the child has executed its program or failed. The child runs on its own stack and does nothing but
//! system calls. If a step fails, the child writes the reason to a shared page, so we learn of a failed exec
//! without a pipe.

use super::affinity::CpuSet;
use super::child::Child;
use super::child_steps::{Orders, Report, STEPS, Streams, child_main};
use super::command::Command;
use super::diagnosis::LaunchError;
use super::kill_guard;
use super::limits;
use super::ourselves;
use super::pipes;
use super::stdio::{OutputKind, Stdout, input, null};
use super::wait::Watch;
use crate::clock;
use crate::units::Nanos;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr;

/// The size of the child's stack. The child makes a dozen system calls, no more.
const STACK: usize = 64 * 1024;

/// Creates processes that execute one command, one process for each call of [`Launcher::launch`].
#[derive(Debug)]
pub struct Launcher {
    command: Command,
    argv: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    /// `None`: our own.
    stdin: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    /// Our controlling terminal, if we have one.
    terminal: Option<File>,
    cpus: Option<libc::cpu_set_t>,
    unmask: bool,
    /// The ends of its next children are waited for by `poll`.
    polls_ends: bool,
    habits: Habits,
    shared: Shared,
}

/// What is known of a program's runs.
#[derive(Clone, Copy, Debug, Default)]
struct Habits {
    prints: Printing,
    /// The last run that a tracer followed had one process, one thread and one exec.
    alone: bool,
    /// We share the processor of its runs.
    shares_processor: bool,
    /// Its pipes can serve the next run; `None`: not known.
    leaves_pipes: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Printing {
    /// Not known, or nothing.
    #[default]
    Unknown,
    /// In the last run far less than a pipe can hold.
    Little,
    /// A run had to wait because nobody read its output.
    Much,
}

/// A program that prints less than this in each run never fills its pipe.
const LITTLE: u64 = 4096;

/// What the child does between its creation and `execve`, besides the usual steps.
#[derive(Clone, Copy)]
pub enum Preparation<'a> {
    /// Nothing. The caller sleeps until the exec (vfork).
    None,
    /// It uses the processor for some time, so that a timer of the kernel that runs already is at a random place when
    /// the exec begins.
    Spin {
        /// How long, in nanoseconds.
        nanos: u64,
    },
    /// It makes us its tracer, and stops when its exec has returned (`PTRACE_TRACEME` in ptrace(2)).
    Stop,
    /// It writes its process id to `meeting` and waits there for one byte, so that another thread can seize it.
    /// Then it installs the seccomp filter, if there is one.
    Ptrace {
        /// The child's end of a socket; the thread that seizes it has the other end.
        meeting: BorrowedFd<'a>,
        /// The number of the other end. The child closes its copy, so that it sees the end of file, and exits, if this
        /// process is killed before it has seized the child.
        tracers_end: c_int,
        /// See `seccomp(2)`.
        filter: Option<&'a [libc::sock_filter]>,
    },
}

/// The page that child and parent share, and the child's stack below it.
#[derive(Debug)]
struct Shared {
    base: *mut c_void,
    length: usize,
}

impl Launcher {
    /// A launcher for one command, whose stdin is `/dev/null`, and whose stderr we read, until set otherwise.
    pub fn new(command: Command) -> Result<Launcher, LaunchError> {
        ourselves::handle_broken_pipes();
        limits::keep();
        Ok(Launcher {
            argv: terminated(&command.argv),
            environment: terminated(&command.environment),
            stdin: if ourselves::has_left_stdin() { None } else { Some(null()?) },
            stderr: None,
            terminal: File::open("/dev/tty").ok(),
            cpus: None,
            unmask: !own_mask_is_empty(),
            polls_ends: false,
            habits: Habits::default(),
            shared: Shared::new()?,
            command,
        })
    }

    /// The command that it launches.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// Gives the tracees a file as stdin.
    pub fn open_stdin(&mut self, path: &Path) -> Result<(), LaunchError> {
        self.stdin = Some(input(path)?);
        Ok(())
    }

    /// Gives the tracees another stderr.
    pub fn set_stderr(&mut self, stderr: OwnedFd) {
        self.stderr = Some(stderr);
    }

    /// Sets or replaces one variable of the tracees' environment; names and values that no environment can hold (a NUL
    /// byte) leave it as it is.
    pub fn set_variable(&mut self, name: &str, value: &std::ffi::OsStr) {
        let _ = self.command.set_variable(name, value);
        self.environment = terminated(&self.command.environment);
    }

    /// Restricts the tracees to some processors.
    pub fn set_cpus(&mut self, cpus: &CpuSet) {
        self.cpus = Some(cpus.as_kernel_mask());
    }

    /// Reads the output while the program writes it, from the first run on. Otherwise a first run that fills its pipe waits
    /// until we look.
    pub fn read_along(&mut self) {
        self.habits.prints = Printing::Much;
    }

    /// When to look at the output of a run whose tracer needs no early look. A program that was seen to fill its
    /// pipe must be read while it writes; otherwise its runs would last until we look.
    pub fn watch(&self) -> Watch {
        if self.habits.prints == Printing::Much { Watch::Arrival } else { Watch::Exit }
    }

    /// When to look at the output of a run whose tracer sees the first byte only as it arrives.
    pub(crate) fn watch_arrival(&mut self) -> Watch {
        let watch = if self.habits.prints == Printing::Little { Watch::FirstByte } else { Watch::Arrival };
        self.polls_ends = watch == Watch::FirstByte;
        watch
    }

    /// Learns from a run that has ended how to watch the next ones.
    pub fn learn(&mut self, stdout: &mut Stdout) {
        let prints = &mut self.habits.prints;
        *prints = match stdout.bytes() {
            _ if stdout.was_full() || *prints == Printing::Much => Printing::Much,
            1..LITTLE => Printing::Little,
            _ => Printing::Unknown,
        };
        if stdout.is_complete() {
            self.habits.leaves_pipes.get_or_insert_with(|| stdout.leaves_pipes());
        }
        self.polls_ends = false;
    }

    /// From now on we share the one processor of the runs.
    pub fn share_processor(&mut self) {
        self.habits.shares_processor = may_be_traced();
    }

    /// Learns from a run that a tracer followed whether it had one process, one thread and one exec, and no other way to print.
    pub(crate) fn learn_whether_alone(&mut self, alone: bool) {
        self.habits.alone = alone;
    }

    /// Whether a single stop shows enough of a run: on a processor that we share, and without more processes and more output
    /// than the last ones.
    pub(crate) fn is_small(&self) -> bool {
        let Habits { prints, alone, shares_processor, .. } = self.habits;
        alone && shares_processor && prints == Printing::Little
    }

    /// When the last child that stops was about to enter `execve`.
    pub(crate) fn entered(&self) -> Nanos {
        // SAFETY: the page is mapped; the child that wrote to it has executed its program.
        Nanos(unsafe { self.shared.report().read_volatile() }.entered)
    }

    /// Creates one process. Unless it is traced, it has executed its program when this returns. If the child
    /// is traced, its tracer reaps it; once it has died, [`Launcher::failure`] gives the reason if a step failed.
    pub fn launch(
        &mut self,
        stdout: &mut Stdout,
        preparation: Preparation<'_>,
    ) -> Result<Child, LaunchError> {
        if let Some((name, address)) = stdout.ready_variable() {
            self.set_variable(name, address.as_ref());
        }
        let streams = Streams {
            stdin: self.stdin.as_ref().map_or(0, AsRawFd::as_raw_fd),
            stdout: stdout.tracee_end(),
            stderr: self.stderr.as_ref().map_or(stdout.tracee_stderr(), AsRawFd::as_raw_fd),
            terminal: stdout.kind() == OutputKind::Pty,
            foreground: false,
        };
        let (child, end) = self.launch_with(streams, preparation)?;
        stdout.end = end;
        stdout.keeps_pipes = self.habits.leaves_pipes == Some(true);
        Ok(child)
    }

    /// As [`Launcher::launch`], but with our own stdin, stdout and stderr, and in our process group, like a
    /// [`Foreground`](super::Foreground) command. `stdout_to_stderr`: our stdout is needed for something else.
    pub(crate) fn launch_in_foreground(
        &mut self,
        stdout_to_stderr: bool,
        preparation: Preparation<'_>,
    ) -> Result<Child, LaunchError> {
        let stdout = if stdout_to_stderr { 2 } else { 1 };
        let streams = Streams { stdin: 0, stdout, stderr: 2, terminal: false, foreground: true };
        self.launch_with(streams, preparation).map(|(child, _)| child)
    }

    /// Also returns a descriptor that becomes readable at the end of the child, if one is wanted (`CLONE_PIDFD` in clone(2)).
    fn launch_with(
        &mut self,
        streams: Streams,
        preparation: Preparation<'_>,
    ) -> Result<(Child, Option<OwnedFd>), LaunchError> {
        let filter = match preparation {
            Preparation::Ptrace { filter: Some(program), .. } => Some(libc::sock_fprog {
                len: u16::try_from(program.len()).unwrap_or(u16::MAX),
                filter: program.as_ptr().cast_mut(),
            }),
            _ => None,
        };

        let report = self.shared.report();
        let (meeting, tracers_end) = match preparation {
            Preparation::Ptrace { meeting, tracers_end, .. } => (meeting.as_raw_fd(), tracers_end),
            _ => (-1, -1),
        };
        let spin = if let Preparation::Spin { nanos } = preparation { nanos } else { 0 };
        let traced = meeting >= 0;
        let shares_memory = !traced || may_be_traced();

        let orders = Orders {
            program: self.command.program.as_ptr(),
            argv: self.argv.as_ptr(),
            environment: self.environment.as_ptr(),
            directory: self.command.directory.as_ref().map_or(ptr::null(), |d| d.as_ptr()),
            streams,
            terminal: self.terminal.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            cpus: self.cpus.as_ref().map_or(ptr::null(), ptr::from_ref),
            unmask: self.unmask,
            meeting,
            tracers_end,
            pid: UnsafeCell::new(0),
            spin,
            stops: matches!(preparation, Preparation::Stop),
            shares_memory,
            filter: filter.as_ref().map_or(ptr::null(), ptr::from_ref),
            report,
        };

        // SAFETY: the shared page is ours and mapped; no child is alive that could write to it.
        unsafe { report.write(Report { errno: 0, step: 0, entered: 0 }) };
        let (child, end) = self.create(&orders)?;

        if !traced && let Err(error) = self.verdict(&child) {
            kill_guard::guard(0);
            return Err(error);
        }
        Ok((child, end))
    }

    /// What stopped the child, read from the shared page. For a traced child: call this when it has died early.
    pub fn failure(&self) -> Option<LaunchError> {
        // SAFETY: the page is mapped; the child that wrote to it has executed its program or is dead.
        let report = unsafe { self.shared.report().read_volatile() };
        let step = STEPS.get(report.step as usize).copied().unwrap_or("an unknown step");
        (report.errno != 0).then(|| LaunchError::from_child(&self.command, step, report.errno))
    }

    fn verdict(&self, child: &Child) -> Result<(), LaunchError> {
        let Some(failure) = self.failure() else { return Ok(()) };
        // SAFETY: reaps the child, which has called `_exit`.
        unsafe { libc::waitpid(child.pid, ptr::null_mut(), 0) };
        Err(failure)
    }

    fn create(&self, orders: &Orders) -> Result<(Child, Option<OwnedFd>), LaunchError> {
        let sharing = if orders.shares_memory { libc::CLONE_VM | libc::CLONE_VFORK } else { 0 };
        // Signals are not blocked meanwhile, which saves two system calls. The only handlers of this process set a
        // flag or do nothing, which is harmless in a child that shares our memory.
        let spawned = clock::now();
        let mut pidfd: c_int = -1;
        let holding = if self.polls_ends { libc::CLONE_PIDFD } else { 0 };
        // SAFETY: the stack is ours, `orders` outlives the child's use of it (vfork) or is copied (fork), the two numbers are
        // written before we go on, and `child_main` does nothing but system calls.
        let pid = unsafe {
            let flags = sharing | holding | libc::CLONE_CHILD_SETTID | libc::SIGCHLD;
            let passed = ptr::from_ref(orders).cast_mut().cast();
            let no_storage = ptr::null_mut::<c_void>();
            let stack = self.shared.stack_top();
            libc::clone(child_main, stack, flags, passed, &raw mut pidfd, no_storage, orders.pid.get())
        };
        if pid < 0 {
            return Err(LaunchError::resource("a process"));
        }
        // SAFETY: fresh, and nobody else's.
        let end = (pidfd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(pidfd) });
        Ok((Child { pid, spawned }, end))
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        pipes::close_spare();
    }
}

/// Pointers to the strings, ending with a null pointer, as `execve(2)` takes them.
fn terminated(all: &[std::ffi::CString]) -> Vec<*const c_char> {
    all.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect()
}

/// Whether a child that shares our memory can be traced. Nobody may trace a process whose binary has capabilities,
/// nor a child that shares its memory. Such a child gets a copy of the memory (fork) and makes itself traceable
/// (`PR_SET_DUMPABLE(2const)`).
fn may_be_traced() -> bool {
    // SAFETY: asks for a flag of our own process.
    unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 }
}

fn own_mask_is_empty() -> bool {
    // SAFETY: plain data, filled by the call.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &raw mut mask);
        (1..=64).all(|signal| libc::sigismember(&raw const mask, signal) != 1)
    }
}

// SAFETY: the raw pointers point into `command`, which the launcher owns and never changes, and to its own mapping.
unsafe impl Send for Launcher {}

impl Shared {
    fn new() -> Result<Shared, LaunchError> {
        let page = rustix::param::page_size();
        let length = STACK + 2 * page;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of our own; its lowest page becomes the stack's guard.
        unsafe {
            let base =
                libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0);
            if base == libc::MAP_FAILED {
                return Err(LaunchError::resource("memory for a child's stack"));
            }
            libc::mprotect(base, page, libc::PROT_NONE);
            Ok(Shared { base, length })
        }
    }

    /// The stack grows down from the report's page.
    fn stack_top(&self) -> *mut c_void {
        self.report().cast()
    }

    fn report(&self) -> *mut Report {
        // SAFETY: the last page of the mapping; page-aligned, hence aligned for a `Report` and for a stack.
        unsafe { self.base.byte_add(self.length - rustix::param::page_size()).cast() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing uses any more.
        unsafe { libc::munmap(self.base, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_child_whose_tracer_vanishes_before_it_is_seized_ends() {
        let mut launcher = Launcher::new(Command::new(&["true"]).unwrap()).unwrap();
        let (mut tracers, childs) = UnixStream::pair().unwrap();
        let tracers_end = tracers.as_raw_fd();
        let tracer = std::thread::spawn(move || tracers.read_exact(&mut [0; 4]));

        let preparation = Preparation::Ptrace { meeting: childs.as_fd(), tracers_end, filter: None };
        let child = launcher.launch_in_foreground(true, preparation).unwrap();
        tracer.join().unwrap().unwrap();

        // SAFETY: our own child, which nobody else waits for.
        let status = unsafe {
            let mut status = 0;
            assert_eq!(libc::waitpid(child.pid, &raw mut status, 0), child.pid);
            status
        };
        assert_eq!(libc::WEXITSTATUS(status), 127);
    }
}
