//! A thread that looks after the thread that waits.
//!
//! The cheapest way to wait for a short-lived tracee is one `wait4` without any time limit: no timer is programmed (in
//! a virtual machine that is a trap), no descriptor is made. But a tracee may hang, stop itself, or fill its pipe. So
//! every 50 ms the attendant looks whether the same wait is still on, and if so, interrupts it by a signal; the waiting
//! thread then goes on with `poll` and its time limits. Short runs never notice it.

use super::nudge::Nudge;
use super::ourselves;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often the attendant looks: a tracee's full pipe or time limit waits at most twice as long.
const LOOK: Duration = Duration::from_millis(50);

struct State {
    /// Odd while a wait is on; another number for every wait.
    wait: AtomicU64,
    gone: AtomicBool,
    waiter: Nudge,
}

/// Looks after one thread's waits; ends with the thread.
struct Attendant {
    state: Arc<State>,
    present: bool,
}

thread_local! {
    static ATTENDANT: Attendant = Attendant::start();
}

/// Runs a wait that the attendant will interrupt (with EINTR, again and again) if it lasts. `None`, without waiting, where
/// no attendant can be had (no more threads): such a wait would know no limit.
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
        let thread = std::thread::Builder::new().name("attendant".to_owned()).spawn(move || attend(&watched));
        Attendant { state, present: thread.is_ok() }
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.state.gone.store(true, Ordering::Relaxed);
    }
}

fn attend(state: &State) {
    // Where the kernel cannot, the table stays shared.
    ourselves::keep_descriptors(None);
    let mut seen = 0;
    while !state.gone.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        let now = state.wait.load(Ordering::Relaxed);
        if now % 2 == 1 && now == seen {
            state.waiter.call();
        }
        seen = now;
    }
}
