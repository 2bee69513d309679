//! A second line of defence: ends every wait that would not end by itself.
//!
//! The tracing thread sleeps in `wait4` until the kernel reports something about a tracee. If a tracee is stopped
//! and nobody resumes it, the kernel has nothing to report, even if the tracee has been killed. Then the watching
//! thread wakes the tracing thread with a signal, and that thread kills and resumes all of its tracees.

use crate::clock;
use crate::launch::nudge::Nudge;
use crate::units::Nanos;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a killed process, or one that was asked to end, may take to end. It may have much memory to give back.
const END_TIMEOUT: Nanos = Nanos(3_000_000_000);

/// The rescue of one run, shared by the tracing thread and the watching thread.
#[derive(Debug, Default)]
pub(super) struct Rescue {
    thread: OnceLock<Nudge>,
    asked: AtomicBool,
}

/// The time until which a run must have ended after its end has begun.
#[derive(Debug, Default)]
pub(super) struct Deadline(Option<Nanos>);

impl Rescue {
    /// The calling thread is the tracing thread.
    pub(super) fn is_for_this_thread(&self) {
        self.thread.get_or_init(Nudge::of_this_thread);
    }

    /// Whether a rescue was asked for.
    pub(super) fn is_asked(&self) -> bool {
        // ORDERING: a lone flag that publishes nothing else.
        self.asked.load(Ordering::Relaxed)
    }

    /// Asks for a rescue and wakes the tracing thread. Callers repeat this, because that thread may just be about
    /// to sleep.
    pub(super) fn ask(&self) {
        // ORDERING: as above; a thread that misses the flag is woken again.
        self.asked.store(true, Ordering::Relaxed);
        self.thread.get().into_iter().for_each(Nudge::call);
    }
}

impl Deadline {
    /// Whether the time is up. `begun`: the run's end has begun.
    pub(super) fn has_passed(&mut self, begun: bool) -> bool {
        if begun && self.0.is_none() {
            self.0 = Some(clock::now());
        }
        self.0.is_some_and(|since| clock::now().0.saturating_sub(since.0) > END_TIMEOUT.0)
    }
}
