//! Calls a thread out of the system call in which it waits.

/// What does it. By default it is ignored (signal(7)): a stray one harms nobody, and nobody sends it to end us.
const NUDGE: libc::c_int = libc::SIGURG;

/// A thread that can be called.
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

    /// Its system call ends with EINTR. To be repeated: it may just be about to begin one.
    pub(crate) fn call(&self) {
        // SAFETY: a signal to a thread of our own process, which handles it by doing nothing; one that has ended is not
        // found.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.thread, NUDGE) };
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// From now on this signal ends the calling thread's waits. No child inherits a handler (`execve(2)`).
pub fn interrupt_waits_by(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: plain data, zeroed is valid; the handler is the caller's. Without SA_RESTART, which is the point. Whoever
    // started us may have blocked every signal, and masks are inherited: that of this thread is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        let mut own: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut own);
        libc::sigaddset(&raw mut own, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const own, std::ptr::null_mut());
    }
}
