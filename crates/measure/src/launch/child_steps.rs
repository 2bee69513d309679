//! What a child does between its creation and `execve`: nothing but system calls and reading the clock, since it shares
//! our memory and its parent sleeps.

use super::diagnosis::MEETING;
use super::kill_guard;
use crate::clock;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// How far the child came before it failed.
#[repr(C)]
pub(super) struct Report {
    pub(super) errno: c_int,
    pub(super) step: u32,
    /// When it was about to enter `execve`, in nanoseconds of [`clock`]; only for one that stops after it.
    pub(super) entered: u64,
}

pub(super) const STEPS: [&str; 10] = [
    "nothing failed",
    "setpgid",
    "setsid",
    "dup2",
    "sched_setaffinity",
    "chdir",
    MEETING,
    "seccomp",
    "execve",
    "ptrace",
];

/// Where the child's stdin, stdout and stderr come from: our descriptors.
pub(super) struct Streams {
    pub(super) stdin: c_int,
    pub(super) stdout: c_int,
    pub(super) stderr: c_int,
    /// Stdout becomes its controlling terminal.
    pub(super) terminal: bool,
    /// It stays in our process group, and outlives us.
    pub(super) foreground: bool,
}

/// What the child reads. It is on the parent's stack, and stays there until the exec.
pub(super) struct Orders {
    pub(super) program: *const c_char,
    pub(super) argv: *const *const c_char,
    pub(super) environment: *const *const c_char,
    pub(super) directory: *const c_char,
    pub(super) streams: Streams,
    /// A descriptor of our controlling terminal, or -1.
    pub(super) terminal: c_int,
    pub(super) cpus: *const libc::cpu_set_t,
    pub(super) unmask: bool,
    pub(super) meeting: c_int,
    pub(super) tracers_end: c_int,
    /// The child's process id, which the kernel writes to the child's memory before the child runs (`CLONE_CHILD_SETTID`).
    pub(super) pid: UnsafeCell<c_int>,
    pub(super) spin: u64,
    /// It stops when its `execve` has returned, and we are its tracer.
    pub(super) stops: bool,
    pub(super) shares_memory: bool,
    pub(super) filter: *const libc::sock_fprog,
    pub(super) report: *mut Report,
}

/// Runs in the child, on its own stack, and does nothing but system calls and reading the clock.
pub(super) extern "C" fn child_main(orders: *mut c_void) -> c_int {
    // SAFETY: the parent passes its `Orders`, which live until the exec.
    let orders = unsafe { &*orders.cast::<Orders>() };
    // SAFETY: system calls with valid arguments; `fail` and `execve` do not return on their respective outcomes.
    unsafe {
        if !orders.streams.foreground {
            separate(orders);
        }
        if orders.meeting < 0 && !orders.streams.foreground {
            // Before the exec, because its processes may run before our parent does. A tracer's end ends all that it traces.
            kill_guard::guard(orders.pid.get().read_volatile());
        }

        let Streams { stdin, stdout, stderr, terminal, .. } = orders.streams;
        for (from, to) in [(if terminal { stdout } else { stdin }, 0), (stdout, 1), (stderr, 2)] {
            // one that is its own may be closed
            if from != to {
                check(libc::dup2(from, to), 3, orders);
            }
        }

        if !orders.cpus.is_null() {
            check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), orders.cpus), 4, orders);
        }
        if !orders.directory.is_null() {
            check(libc::chdir(orders.directory), 5, orders);
        }

        if orders.meeting >= 0 {
            if !orders.shares_memory {
                libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
            }
            meet(orders);
            if !orders.filter.is_null() {
                check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 7, orders);
                check(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, orders.filter), 7, orders);
            }
        }

        if orders.unmask {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        }

        if orders.spin > 0 {
            spin(orders.spin);
        }

        if orders.stops {
            check(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0), 9, orders);
            (&raw mut (*orders.report).entered).write_volatile(clock::now().0);
        }

        libc::execve(orders.program, orders.argv, orders.environment);
        fail(8, orders)
    }
}

/// Gives the child a process group of its own, which ends with us.
unsafe fn separate(orders: &Orders) {
    // SAFETY: system calls with valid arguments.
    unsafe {
        // If this process is killed, the child is killed too.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);

        if orders.streams.terminal {
            // A session of its own, so that the pty can become its controlling terminal.
            check(libc::setsid(), 2, orders);
            libc::ioctl(orders.streams.stdout, libc::TIOCSCTTY, 0);
        } else {
            check(libc::setpgid(0, 0), 1, orders);
            // In the background of our terminal it would be stopped as soon as it used the terminal, as an interactive
            // shell does at once (SIGTTIN). So it has none, as under cron, and stays in our session: a new session would
            // have a share of the processors of its own (autogroup in sched(7)). See TIOCNOTTY in ioctl_tty(2).
            if orders.terminal >= 0 {
                libc::ioctl(orders.terminal, libc::TIOCNOTTY);
            }
        }
    }
}

/// Uses the processor for some time.
fn spin(nanos: u64) {
    let end = clock::now().0 + nanos;
    while clock::now().0 < end {
        std::hint::spin_loop();
    }
}

/// Sends the tracer our process id, and waits until the tracer has seized us.
unsafe fn meet(orders: &Orders) {
    // SAFETY: system calls with valid buffers.
    unsafe {
        libc::close(orders.tracers_end);
        let (pid, mut go) = (libc::getpid(), 0_u8);
        // the reason for what fails without one
        *libc::__errno_location() = libc::ECONNRESET;
        check(pid, 6, orders);
        let written = libc::write(orders.meeting, ptr::from_ref(&pid).cast(), size_of_val(&pid));
        check(if written == 4 { 0 } else { -1 }, 6, orders);
        let heard = libc::read(orders.meeting, ptr::from_mut(&mut go).cast(), 1);
        check(if heard == 1 { 0 } else { -1 }, 6, orders);
    }
}

unsafe fn check(result: impl Into<i64>, step: u32, orders: &Orders) {
    if result.into() < 0 {
        // SAFETY: called in the child only, with the parent's orders.
        unsafe { fail(step, orders) };
    }
}

unsafe fn fail(step: u32, orders: &Orders) -> ! {
    // SAFETY: the report lies in the shared page; `_exit` runs no handler of the parent's.
    unsafe {
        (&raw mut (*orders.report).errno).write_volatile(*libc::__errno_location());
        (&raw mut (*orders.report).step).write_volatile(step);
        libc::_exit(127)
    }
}
