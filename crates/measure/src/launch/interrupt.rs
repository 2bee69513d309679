//! Remembers the signals that ask a program to end, so that a run can end cleanly and finished results are saved, and
//! when we were continued after a stop, so that no stop of ours counts as a program's time.

use crate::clock;
use crate::units::Nanos;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

/// What a user or a terminal sends to end a program: Ctrl-C, `kill`, a closed terminal, Ctrl-\.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// How often something is done again because we were stopped meanwhile.
const AGAIN: u32 = 3;

/// The exit status after an interruption: that of a shell whose command SIGINT ended.
const INTERRUPTED: libc::c_int = 128 + libc::SIGINT;

static NOTHING_RUNS: AtomicBool = AtomicBool::new(false);
static INTERRUPTED_BY: AtomicI32 = AtomicI32::new(0);
static SIGNALS: AtomicU32 = AtomicU32::new(0);
static CONTINUED: AtomicU64 = AtomicU64::new(0);

extern "C" fn remember(signal: libc::c_int) {
    // ORDERING: a lone flag and a counter that publish nothing else.
    INTERRUPTED_BY.store(signal, Ordering::Relaxed);
    let earlier = SIGNALS.fetch_add(1, Ordering::Relaxed);
    let wants_results = signal == libc::SIGINT && earlier == 0;
    if NOTHING_RUNS.load(Ordering::Relaxed) && !wants_results {
        // SAFETY: async-signal-safe (`signal-safety(7)`).
        unsafe { libc::_exit(INTERRUPTED) };
    }
}

/// Does something that can take long and during which no program runs, no tracer is needed and nothing is half written. A first
/// Ctrl-C still lets it finish, because it makes the results of what ran before. A second one, and any other signal of
/// [`catch_signals`], ends this process at once with the status 130.
pub fn while_nothing_runs<T>(work: impl FnOnce() -> T) -> T {
    // ORDERING: see `remember`.
    NOTHING_RUNS.store(true, Ordering::Relaxed);
    let done = work();
    NOTHING_RUNS.store(false, Ordering::Relaxed);
    done
}

extern "C" fn note_continuation(_: libc::c_int) {
    // ORDERING: a lone number that publishes nothing else.
    CONTINUED.store(clock::now().0, Ordering::Relaxed);
}

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are remembered instead of ending the process, and waiting system
/// calls return with EINTR. A signal that was ignored when this process started (`nohup`) stays ignored. SIGCONT is
/// remembered, too: see [`continued_since`].
pub fn catch_signals() {
    note_continuations();
    for signal in ENDING {
        // SAFETY: the structures are plain data, and zeroed is valid; `remember` is async-signal-safe (one atomic
        // store).
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = remember as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// A stopped process cannot note that it stops (SIGSTOP), but each stop ends with SIGCONT (`signal(7)`).
fn note_continuations() {
    // SAFETY: the structure is plain data, and zeroed is valid; `note_continuation` is async-signal-safe: it reads the
    // clock (`signal-safety(7)`) and stores it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note_continuation as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGCONT, &raw const action, std::ptr::null_mut());
    }
}

/// Whether we were continued after this instant: until then we had been stopped (Ctrl-Z), unless somebody sent SIGCONT
/// without need.
pub(crate) fn continued_since(instant: Nanos) -> bool {
    // ORDERING: see `note_continuation`.
    CONTINUED.load(Ordering::Relaxed) > instant.0
}

/// Does something that is timed, and does it again if we were stopped meanwhile, at most [`AGAIN`] times.
pub fn without_stops<T>(mut timed: impl FnMut() -> T) -> T {
    for _ in 0..AGAIN {
        let begun = clock::now();
        let done = timed();
        if !continued_since(begun) {
            return done;
        }
    }
    timed()
}

/// Undoes [`catch_signals`]: from now on these signals end the process again.
pub fn let_signals_end_us() {
    for signal in ENDING {
        // SAFETY: the structures are plain data, and zeroed is valid: SIG_DFL, no flags.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction == remember as extern "C" fn(libc::c_int) as usize {
                let action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }
}

/// The signal that interrupted us, if there was one.
pub fn interrupted() -> Option<i32> {
    // ORDERING: see `remember`.
    match INTERRUPTED_BY.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// How many signals have interrupted us. What runs after an interruption, such as a command that cleans up, is itself
/// interrupted by the next one.
pub fn count() -> u32 {
    // ORDERING: see `remember`.
    SIGNALS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exit status of a child that gets these signals while it does something; 0: it went on.
    fn status_after(signals: &[libc::c_int], nothing_runs: bool) -> i32 {
        // SAFETY: the child uses only system calls and atomics, and leaves by `_exit`.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                catch_signals();
                let send = || signals.iter().for_each(|signal| assert_eq!(libc::raise(*signal), 0));
                if nothing_runs {
                    while_nothing_runs(send);
                } else {
                    send();
                }
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert!(libc::WIFEXITED(status), "{status:#x}");
            libc::WEXITSTATUS(status)
        }
    }

    #[test]
    fn while_nothing_runs_only_the_first_ctrl_c_is_remembered() {
        assert_eq!(status_after(&[libc::SIGTERM, libc::SIGINT], false), 0);
        assert_eq!(status_after(&[libc::SIGINT], true), 0);
        assert_eq!(status_after(&[libc::SIGINT, libc::SIGINT], true), INTERRUPTED);
        assert_eq!(status_after(&[libc::SIGTERM], true), INTERRUPTED);
    }
}
