//! The second line of defence: no wait without a way out.
//!
//! The tracing thread sleeps in `wait4` until the kernel reports something of a tracee. Should a tracee ever stand still
//! that nobody will resume, the kernel has nothing to report, not even of one that has been killed: then the watching
//! thread wakes the tracing one by a signal, and that kills and resumes whatever it has.

use crate::launch::clock;
use crate::units::Nanos;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// How long what was killed, or asked to end, may take to be gone: it may have much memory to give back.
const PATIENCE: Nanos = Nanos(3_000_000_000);

/// What wakes the thread. By default it is ignored, so nobody else sends it in order to end us.
const WAKING: i32 = libc::SIGURG;

/// Of one run: shared by the thread that traces and the one that watches.
#[derive(Debug, Default)]
pub(super) struct Rescue {
    thread: AtomicI32,
    asked: AtomicBool,
}

/// How long an end has been on its way.
#[derive(Debug, Default)]
pub(super) struct Overdue(Option<Nanos>);

impl Rescue {
    /// The calling thread is the one that traces.
    pub(super) fn is_for_this_thread(&self) {
        // SAFETY: asks for our own thread id.
        let thread = unsafe { libc::gettid() };
        // ORDERING: a lone number that publishes nothing else.
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// Whether it has been asked for.
    pub(super) fn is_asked(&self) -> bool {
        // ORDERING: a lone flag that publishes nothing else.
        self.asked.load(Ordering::Relaxed)
    }

    /// Asks for it, and wakes the tracing thread; to be repeated, since that may just be about to fall asleep.
    pub(super) fn ask(&self) {
        hear_the_waking();
        // ORDERING: as above; whoever misses the flag is woken again.
        self.asked.store(true, Ordering::Relaxed);
        let thread = self.thread.load(Ordering::Relaxed);
        // SAFETY: a signal to a thread of our own process, which handles it by doing nothing; one that has ended is
        // not found.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, WAKING) };
    }
}

impl Overdue {
    /// Whether an end that has begun (as `begun` says) has been waited for long enough.
    pub(super) fn is_so(&mut self, begun: bool) -> bool {
        if begun && self.0.is_none() {
            self.0 = Some(clock::now());
        }
        self.0.is_some_and(|since| clock::now().0.saturating_sub(since.0) > PATIENCE.0)
    }
}

/// Without `SA_RESTART`, so that the wait ends. No child inherits a handler (`execve(2)`).
fn hear_the_waking() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: plain data, zeroed is valid; the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(WAKING, &raw const action, std::ptr::null_mut());
        }
    });
}

extern "C" fn nothing(_: libc::c_int) {}
