//! The second line of defence: no wait without a way out.
//!
//! The tracing thread sleeps in `wait4` until the kernel reports something of a tracee. Should a tracee ever stand still
//! that nobody will resume, the kernel has nothing to report, not even of one that has been killed: then the watching
//! thread wakes the tracing one by a signal, and that kills and resumes whatever it has.

use crate::clock;
use crate::launch::nudge::Nudge;
use crate::units::Nanos;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long what was killed, or asked to end, may take to be gone: it may have much memory to give back.
const PATIENCE: Nanos = Nanos(3_000_000_000);

/// Of one run: shared by the thread that traces and the one that watches.
#[derive(Debug, Default)]
pub(super) struct Rescue {
    thread: OnceLock<Nudge>,
    asked: AtomicBool,
}

/// How long an end has been on its way.
#[derive(Debug, Default)]
pub(super) struct Overdue(Option<Nanos>);

impl Rescue {
    /// The calling thread is the one that traces.
    pub(super) fn is_for_this_thread(&self) {
        self.thread.get_or_init(Nudge::of_this_thread);
    }

    /// Whether it has been asked for.
    pub(super) fn is_asked(&self) -> bool {
        // ORDERING: a lone flag that publishes nothing else.
        self.asked.load(Ordering::Relaxed)
    }

    /// Asks for it, and wakes the tracing thread; to be repeated, since that may just be about to fall asleep.
    pub(super) fn ask(&self) {
        // ORDERING: as above; whoever misses the flag is woken again.
        self.asked.store(true, Ordering::Relaxed);
        self.thread.get().into_iter().for_each(Nudge::call);
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
