//! A thread that looks after the thread that waits.
//!
//! The cheapest way to wait for a short-lived tracee is one `wait4` without any time limit: no timer is programmed (in
//! a virtual machine that is a trap), no descriptor is made. But a tracee may hang, stop itself, or fill its pipe. So
//! every 50 ms the attendant looks whether the same wait is still on, and if so, interrupts it by a signal; the waiting
//! thread then goes on with `poll` and its time limits. Short runs never notice it.

use super::ourselves;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often the attendant looks: a tracee's full pipe or time limit waits at most twice as long.
const LOOK: Duration = Duration::from_millis(50);

/// What interrupts the wait: ignored by default, so that a stray one harms nobody.
const NUDGE: i32 = libc::SIGURG;

struct State {
    /// Odd while a wait is on; another number for every wait.
    wait: AtomicU64,
    gone: AtomicBool,
    waiter: i32,
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
        install_handler();
        let_through();
        // SAFETY: gettid has no arguments and no effects.
        let waiter = unsafe { libc::gettid() };
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
            // SAFETY: a signal to a thread of our own process, which handles it by doing nothing.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), state.waiter, NUDGE) };
        }
        seen = now;
    }
}

extern "C" fn nothing(_: libc::c_int) {}

fn install_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: plain data; the handler does nothing. Without SA_RESTART, which is the point.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(NUDGE, &raw const action, std::ptr::null_mut());
        }
    });
}

/// Whoever started us may have blocked every signal, and masks are inherited: nothing would interrupt the wait.
fn let_through() {
    // SAFETY: plain data; a change of this thread's own mask.
    unsafe {
        let mut nudge: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut nudge);
        libc::sigaddset(&raw mut nudge, NUDGE);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const nudge, std::ptr::null_mut());
    }
}
