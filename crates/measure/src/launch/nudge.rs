//! Interrupts a system call in which another thread waits.

/// The signal that interrupts. It is ignored by default (signal(7)), so a stray one does no harm, and nobody sends
/// it to end a process.
const NUDGE: libc::c_int = libc::SIGURG;

/// A thread whose system calls can be interrupted.
#[derive(Debug)]
pub(crate) struct Nudge {
    thread: libc::pid_t,
}

impl Nudge {
    /// The calling thread.
    pub(crate) fn of_this_thread() -> Nudge {
        interrupt_waits_by(NUDGE, nothing);
        // SAFETY: gettid has no arguments and no effects.
        Nudge { thread: unsafe { libc::gettid() } }
    }

    /// The thread's system call ends with EINTR. Callers repeat this, because the thread may be just about to enter
    /// a call.
    pub(crate) fn call(&self) {
        // SAFETY: a signal to a thread of our own process, whose handler does nothing. A thread that has ended is
        // not found.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.thread, NUDGE) };
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// From now on this signal interrupts the calling thread's waits. No child inherits a handler (`execve(2)`).
pub fn interrupt_waits_by(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: plain data, and zeroed is valid; the handler is the caller's. There is no SA_RESTART, because waits
    // must end. Our parent may have blocked every signal, and masks are inherited, so this thread's mask is
    // changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const signals, std::ptr::null_mut());
    }
}
