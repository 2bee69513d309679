//! A watchdog thread for long waits.
//!
//! The cheapest way to wait for a short-lived tracee is a single `wait4` without a time limit: it needs no timer
//! (which in a virtual machine is a trap) and no descriptor. But a tracee may hang, stop itself, or fill its pipe.
//! So every 50 ms the attendant checks whether the same wait is still in progress, and if so interrupts it with a
//! signal. The waiting thread then continues with `poll` and its time limits. Short runs are not affected.
//!
//! The wait for an exec (`vfork(2)`) cannot be interrupted. An exec lasts as long as a file system that does not answer.
//! So if a signal for us arrives meanwhile, the attendant kills the child. If not even that ends the wait, the signal
//! ends us, as if we had not caught it.

use super::interrupt;
use super::nudge::Nudge;
use super::ourselves;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the attendant checks. A full pipe or an expired time limit is noticed after at most twice as long.
const LOOK: Duration = Duration::from_millis(50);

/// How long a killed child may take to die.
const DYING: Duration = Duration::from_secs(2);

struct State {
    /// Odd while a wait is in progress; a different number for every wait.
    wait: AtomicU64,
    /// The child whose exec is awaited, 0 if there is none. The kernel writes it.
    executing: AtomicI32,
    /// Held while that child is killed or forgotten, so that no other process can have its id.
    killing: Mutex<()>,
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

/// Creates a child and waits for its exec. `create` gets the place to which the kernel writes the child's id
/// (`CLONE_PARENT_SETTID`).
pub(super) fn executed<T>(create: impl FnOnce(*mut i32) -> T) -> T {
    ATTENDANT.with(|attendant| {
        let state = &attendant.state;
        let result = create(state.executing.as_ptr());
        let _not_now = state.killing.lock().unwrap_or_else(PoisonError::into_inner);
        // ORDERING: the lock orders it.
        state.executing.store(0, Ordering::Relaxed);
        result
    })
}

impl Attendant {
    fn start() -> Attendant {
        let waiter = Nudge::of_this_thread();
        let state = Arc::new(State {
            wait: AtomicU64::new(0),
            executing: AtomicI32::new(0),
            killing: Mutex::new(()),
            gone: AtomicBool::new(false),
            waiter,
        });
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
    // On a kernel that cannot do it, the table stays shared.
    ourselves::keep_descriptors(None);
    block_interruptions();
    let (mut seen, mut launch) = (0, Launch::default());

    while !state.gone.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        let now = state.wait.load(Ordering::Relaxed);
        if now % 2 == 1 && now == seen {
            state.waiter.call();
        }
        seen = now;
        launch.look(state);
    }
}

/// The child whose exec is awaited.
#[derive(Debug, Default)]
struct Launch {
    child: i32,
    /// How often we have looked since it was killed.
    looks: u32,
}

impl Launch {
    fn look(&mut self, state: &State) {
        let child = state.executing.load(Ordering::Relaxed);
        if child == 0 || child != self.child {
            *self = Launch { child, looks: 0 };
            return;
        }
        let Some(signal) = pending_interruption() else { return };
        match self.looks {
            0 => kill_executing(state, child),
            looks if LOOK * looks >= DYING => end_by(signal),
            _ => {}
        }
        self.looks += 1;
    }
}

fn kill_executing(state: &State, child: i32) {
    let _not_now = state.killing.lock().unwrap_or_else(PoisonError::into_inner);
    // ORDERING: the lock orders it.
    if state.executing.load(Ordering::Relaxed) == child {
        // SAFETY: our own child, which is not reaped before it is forgotten.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
}

fn end_by(signal: i32) {
    interrupt::let_signals_end_us();
    // SAFETY: a signal to ourselves, with its default action.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// The signals of [`interrupt`].
const INTERRUPTIONS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// This thread leaves these signals to the others, and can see that they are pending (`sigpending(2)`).
fn block_interruptions() {
    // SAFETY: plain data, initialised by the first call; the mask of this thread.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in INTERRUPTIONS {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
    }
}

fn pending_interruption() -> Option<i32> {
    // SAFETY: plain data, filled by the call.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut pending);
        INTERRUPTIONS.into_iter().find(|signal| libc::sigismember(&raw const pending, *signal) == 1)
    }
}
