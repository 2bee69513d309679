//! Children that existed before this command started are not ours to kill.
//!
//! A shell that runs `server & exec firstbyte …` hands us its children. Later on, orphans of a tracee become our
//! children too, and the kernel does not say which are which. So a command that starts with children runs in a process
//! of its own, which has none.

use super::exit_status::ExitStatus;
use super::tree;
use std::ptr;

/// Signals that the process which stays behind hands on.
const HANDED_ON: [i32; 7] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGCONT];

/// If this process already has children, forks: the child returns from here and runs the command, and this process
/// waits for it and ends as it ends. Call it before any thread is created and before any signal handler is installed.
pub fn leave_inherited_children() {
    if !tree::has_children() {
        return;
    }

    tree::hear_of_exits();
    let (awaited, before) = block();
    // SAFETY: no other thread exists yet, so the child may go on as an ordinary process.
    match unsafe { libc::fork() } {
        child if child > 0 => stay_behind(child, &awaited),
        outcome => {
            if outcome == 0 {
                end_with_parent();
            }
            // SAFETY: the mask that was valid before.
            unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
        }
    }
}

/// Blocks the signals that the process which stays behind waits for; returns them, and the mask from before.
fn block() -> (libc::sigset_t, libc::sigset_t) {
    // SAFETY: plain data, initialised by the calls below.
    unsafe {
        let (mut awaited, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&raw mut awaited);
        for signal in HANDED_ON.into_iter().chain([libc::SIGCHLD]) {
            libc::sigaddset(&raw mut awaited, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const awaited, &raw mut before);
        (awaited, before)
    }
}

/// The command ends, cleanly, when the process that stays behind is killed.
fn end_with_parent() {
    // SAFETY: a flag of our own process; see prctl(2).
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0) };
}

/// Waits for the command, hands signals on to it, and ends as it ends.
fn stay_behind(command: i32, awaited: &libc::sigset_t) -> ! {
    loop {
        // SAFETY: plain data; the signals are blocked.
        let mut received: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let signal = unsafe { libc::sigwaitinfo(awaited, &raw mut received) };
        match signal {
            libc::SIGCHLD => heed(command),
            // the terminal sends its signals to the command as well: it is in the same process group
            signal if signal > 0 && (received.si_code <= 0 || signal == libc::SIGCONT) => {
                // SAFETY: our own child, which has not been reaped.
                unsafe { libc::kill(command, signal) };
            }
            _ => {}
        }
    }
}

/// Ends if the command has ended; stops if it has stopped.
fn heed(command: i32) {
    let mut status = 0;
    // SAFETY: our own child.
    let changed = unsafe { libc::waitpid(command, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
    if changed != command {
        return;
    }
    if libc::WIFSTOPPED(status) {
        // SAFETY: a signal to ourselves; the shell that continues us continues the command, or we hand SIGCONT on.
        unsafe { libc::raise(libc::SIGSTOP) };
        return;
    }
    match ExitStatus::from_wait(status) {
        ExitStatus::Code(code) => std::process::exit(code),
        ExitStatus::Signal(signal) => end_by(signal),
    }
}

/// Ends by the signal that ended the command, as a shell would see it.
fn end_by(signal: i32) -> ! {
    tree::leave_no_cores();
    // SAFETY: the default action of a signal, which is then unblocked and sent to ourselves.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
    }
    std::process::exit(128 + signal)
}
