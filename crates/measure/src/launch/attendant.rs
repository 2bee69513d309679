//! A watchdog thread for long waits.
//!
//! The cheapest way to wait for a short-lived tracee is a single `wait4` without a time limit: it needs no timer
//! (which in a virtual machine is a trap) and no descriptor. But a tracee may hang, stop itself, or fill its pipe.
//! So every 50 ms the attendant checks whether the same wait is still in progress, and if so interrupts it with a
//! signal. The waiting thread then continues with `poll` and its time limits. Short runs are not affected.

use super::limits;
use super::nudge::Nudge;
use super::ourselves;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// How often the attendant checks. A full pipe or an expired time limit is noticed after at most twice as long.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

struct State {
    /// Odd while a wait is in progress; a different number for every wait.
    wait: AtomicU64,
    gone: AtomicBool,
    waiter: Nudge,
}

/// Watches the waits of one thread; ends with that thread.
struct Attendant {
    state: Arc<State>,
    present: bool,
}

thread_local! {
    static ATTENDANT: Attendant = Attendant::start();
}

/// Makes sure that this thread has its attendant, before a tracee runs that may take our memory away (`prlimit(2)`): a new
/// thread of Rust's library panics without memory for its second stack.
pub(super) fn be_present() {
    ATTENDANT.with(|_| ());
}

/// Runs a wait that the attendant interrupts (with EINTR, repeatedly) if it takes long. Returns `None` without
/// waiting if there is no attendant (no more threads): nothing could end such a wait.
pub(super) fn attended<T>(wait: impl FnOnce() -> T) -> Option<T> {
    ATTENDANT.with(|attendant| {
        if !attendant.present {
            return None;
        }
        // ORDERING: the counter publishes nothing but itself.
        attendant.state.wait.fetch_add(1, Ordering::Relaxed);
        let result = wait();
        attendant.state.wait.fetch_add(1, Ordering::Relaxed);
        Some(result)
    })
}

impl Attendant {
    fn start() -> Attendant {
        let waiter = Nudge::of_this_thread();
        let state = Arc::new(State { wait: AtomicU64::new(0), gone: AtomicBool::new(false), waiter });
        let watched = Arc::clone(&state);
        let (begun, has_begun) = channel();
        let attending = move || {
            let _ = begun.send(());
            attend(&watched);
        };
        // Without memory, which an earlier tracee may have taken away, a new thread would panic.
        let thread = limits::restore_memory()
            .is_ok()
            .then(|| std::thread::Builder::new().name("attendant".to_owned()).spawn(attending));
        Attendant { state, present: thread.is_some_and(|it| it.is_ok()) && has_begun.recv().is_ok() }
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.state.gone.store(true, Ordering::Relaxed);
    }
}

fn attend(state: &State) {
    // On a kernel that cannot do it, the table stays shared.
    ourselves::keep_descriptors(None);
    let mut seen = 0;
    while !state.gone.load(Ordering::Relaxed) {
        crate::clock::pause(POLL_INTERVAL);
        let now = state.wait.load(Ordering::Relaxed);
        if is_long(seen, now) {
            state.waiter.call();
        }
        seen = now;
    }
}

/// Whether the wait that was in progress at the last look is still in progress.
fn is_long(seen: u64, now: u64) -> bool {
    now % 2 == 1 && now == seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wait_that_was_seen_before_is_interrupted() {
        assert!(is_long(7, 7));
        assert!(![(8, 8), (7, 9), (7, 8), (6, 7), (0, 0)].iter().any(|(seen, now)| is_long(*seen, *now)));
    }

    /// Without the attendant this would never end.
    #[test]
    fn an_endless_wait_is_interrupted() {
        let interrupted = attended(|| {
            // SAFETY: no descriptors, no time limit.
            let answer = unsafe { libc::poll(std::ptr::null_mut(), 0, -1) };
            (answer, std::io::Error::last_os_error().raw_os_error())
        });
        assert_eq!(interrupted, Some((-1, Some(libc::EINTR))));
    }
}
