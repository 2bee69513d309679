//! Runs a shell command of the user around the measured ones.
//!
//! What the command leaves running, such as a server, is not ours to kill, and neither is what that starts later. So
//! the shell is the child of a process in between, the keeper, which adopts all that the shell leaves behind
//! (`PR_SET_CHILD_SUBREAPER`). None of it is ever taken for a tracee's orphan. The keeper ends when it has no more
//! children, or when we end.

use super::exit_status::ExitStatus;
use super::interrupt;
use super::ready::ChildEnd;
use super::tree::{self, Held};
use std::ffi::{CStr, CString, c_char, c_int};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::{Duration, Instant};

const SHELL: &CStr = c"/bin/sh";

/// How often we check for interruptions and the time limit.
const SLICE: Duration = Duration::from_millis(50);

/// How long a command has to end after it was asked to (SIGTERM).
const GRACE: Duration = Duration::from_secs(1);

/// The descriptor by which a keeper reports.
const REPORT: c_int = 3;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// By itself.
    Ended(ExitStatus),
    /// Its time was up: it was killed, with all that it had started.
    TimedOut,
    /// A signal arrived for us meanwhile: it was killed, with all that it had started.
    Interrupted,
}

/// Runs `command` by `/bin/sh`, in our process group, so that it may read the terminal. Its stdin and stdout are
/// `/dev/null`. Call it from the thread that launches the tracees.
///
/// # Errors
///
/// There is no process, descriptor or memory for it, or the command contains a NUL byte.
pub fn run(command: &str, stderr: BorrowedFd<'_>, limit: Duration) -> io::Result<Kept> {
    let command = CString::new(command)?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let (report, writer) = io::pipe()?;
    let orders = Orders {
        argv: [SHELL.as_ptr(), c"-c".as_ptr(), command.as_ptr(), ptr::null()],
        null: null.as_raw_fd(),
        stderr: stderr.as_raw_fd(),
        report: writer.as_raw_fd(),
    };

    let signals = interrupt::count();
    // SAFETY: the child does nothing but system calls, on a copy of our memory.
    let keeper = match unsafe { libc::fork() } {
        // SAFETY: this is that child.
        0 => unsafe { keep(&orders) },
        child if child < 0 => return Err(io::Error::last_os_error()),
        child => child,
    };
    drop(writer);
    tree::spare(keeper);

    let outcome = Watched::new(report, keeper).and_then(|mut watched| watched.wait(limit, signals));
    if !matches!(outcome, Ok(Kept::Ended(_))) {
        // Its children become ours, and are not spared.
        tree::discard_spared(keeper);
        let _ = tree::kill_adopted();
    }
    outcome
}

/// What the keeper and the shell need. Their memory is a copy of ours.
struct Orders {
    argv: [*const c_char; 4],
    null: c_int,
    stderr: c_int,
    report: c_int,
}

/// The keeper: reports the shell's process id, and its status once it has ended. Stays as long as it has children.
unsafe fn keep(orders: &Orders) -> ! {
    // SAFETY: only system calls, with valid arguments.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        let shell = libc::fork();
        if shell == 0 {
            become_shell(orders);
        }
        keep_only(orders);
        report(shell);

        loop {
            let mut status = 0;
            let ended = libc::waitpid(-1, &raw mut status, 0);
            // It stops, rather than ends, if it has made us its tracer: ptrace(2).
            if ended == shell && libc::WIFSTOPPED(status) {
                continue;
            }
            if ended == shell {
                report(status);
                libc::close(REPORT);
            } else if ended < 0 && *libc::__errno_location() != libc::EINTR {
                libc::_exit(0);
            }
        }
    }
}

unsafe fn become_shell(orders: &Orders) -> ! {
    // SAFETY: as above; the set is plain data.
    unsafe {
        libc::dup2(orders.stderr, 2);
        libc::dup2(orders.null, 0);
        libc::dup2(orders.null, 1);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::execv(SHELL.as_ptr(), orders.argv.as_ptr());
        libc::_exit(127)
    }
}

/// Closes copies of our descriptors: pipes would not end, and BPF programs would stay attached.
unsafe fn keep_only(orders: &Orders) {
    // SAFETY: system calls on descriptors of this process.
    unsafe {
        libc::dup2(orders.report, REPORT);
        for standard in 0..REPORT {
            libc::dup2(orders.null, standard);
        }
        // `close_range(2)`: Linux 5.9
        if libc::syscall(libc::SYS_close_range, REPORT + 1, u32::MAX, 0) != 0 {
            for descriptor in REPORT + 1..4096 {
                libc::close(descriptor);
            }
        }
    }
}

unsafe fn report(number: c_int) {
    // SAFETY: a valid buffer; if nobody reads it, nobody needs it.
    unsafe { libc::write(REPORT, ptr::from_ref(&number).cast(), size_of_val(&number)) };
}

/// The shell, as its keeper reports it.
struct Watched {
    reports: File,
    shell: Option<Held>,
    keeper: ChildEnd,
}

impl Watched {
    fn new(reports: PipeReader, keeper: c_int) -> io::Result<Watched> {
        let mut reports = File::from(std::os::fd::OwnedFd::from(reports));
        let shell = read_number(&mut reports)?;
        let shell = if shell > 0 { tree::hold(shell) } else { None };
        Ok(Watched { reports, shell, keeper: ChildEnd::of(keeper) })
    }

    /// `signals`: how many had arrived when the command began.
    fn wait(&mut self, limit: Duration, signals: u32) -> io::Result<Kept> {
        let began = Instant::now();
        loop {
            if self.has_ended(SLICE) {
                return Ok(Kept::Ended(ExitStatus::from_wait(read_number(&mut self.reports)?)));
            }
            let outcome = match began.elapsed() >= limit {
                true => Kept::TimedOut,
                false if interrupt::count() != signals => Kept::Interrupted,
                false => continue,
            };
            if let Some(shell) = &self.shell {
                shell.terminate();
            }
            if !self.has_ended(GRACE)
                && let Some(shell) = &self.shell
            {
                // Of a process that does not adopt orphans, the shell would outlive its keeper.
                let _ = shell.kill();
            }
            return Ok(outcome);
        }
    }

    /// Returns early if a signal arrives.
    fn has_ended(&self, pause: Duration) -> bool {
        // The keeper closes its end when it ends, and reports before.
        let (keeper_ended, may_have_reported) = self.keeper.wait([self.reports.as_raw_fd(), -1, -1], pause);
        keeper_ended || may_have_reported && has_bytes(&self.reports)
    }
}

/// Whether there is something to read, or nobody will ever write.
fn has_bytes(reports: &File) -> bool {
    let mut bytes: c_int = 0;
    // SAFETY: an out-pointer (`FIONREAD` in ioctl(2)).
    unsafe { libc::ioctl(reports.as_raw_fd(), libc::FIONREAD, &raw mut bytes) == 0 && bytes > 0 }
}

fn read_number(reports: &mut File) -> io::Result<c_int> {
    let mut bytes = [0; size_of::<c_int>()];
    reports.read_exact(&mut bytes).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => io::Error::other("the process that waits for it was killed"),
        _ => error,
    })?;
    Ok(c_int::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn kept(command: &str, limit: Duration) -> Kept {
        let null = File::open("/dev/null").unwrap();
        run(command, null.as_fd(), limit).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_command_ends_with_its_status() {
        assert_eq!(kept("true | true", LONG), Kept::Ended(ExitStatus::SUCCESS));
        assert_eq!(kept("exit 3", LONG), Kept::Ended(ExitStatus::Code(3)));
        assert_eq!(kept("kill -9 $$", LONG), Kept::Ended(ExitStatus::Signal(9)));
    }

    #[test]
    fn what_a_command_leaves_in_the_background_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let id = folder.path().join("id");
        let command = format!("sleep 1000 & echo $! > {}", id.display());
        assert_eq!(kept(&command, LONG), Kept::Ended(ExitStatus::SUCCESS));
        let id: i32 = std::fs::read_to_string(id).unwrap().trim().parse().unwrap();
        assert!(tree::hold(id).unwrap().kill().unwrap(), "it was alive");
    }

    #[test]
    fn a_command_that_ignores_the_request_to_end_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let id = folder.path().join("id");
        let command = format!("trap '' TERM; echo $$ > {}; while :; do sleep 1; done", id.display());
        assert_eq!(kept(&command, Duration::from_secs(3)), Kept::TimedOut);
        let id: i32 = std::fs::read_to_string(id).unwrap().trim().parse().unwrap();
        assert!(tree::hold(id).is_none_or(|shell| !shell.kill().unwrap()), "it is dead");
    }
}
