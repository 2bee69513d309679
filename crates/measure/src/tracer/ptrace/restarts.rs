//! System calls that are interrupted only because a tracer is present.
//!
//! Without a tracer, the kernel drops a signal that a program ignores. For a traced program it asks the tracer
//! first (`sig_ignored` in kernel/signal.c): it queues the signal, interrupts a call that waits or forks (with
//! `ERESTARTSYS` or a similar code, which no program ever sees), tells the tracer, and enters the call again.
//! Without a tracer this would have been one call, so the second entry continues the first call. An example is
//! SIGCHLD, which arrives whenever a child ends, in a program that does not catch it.
//!
//! A call that was interrupted for a handler is also entered again without a tracer (`SA_RESTART`), and counts
//! twice in both cases.

use crate::tracer::event::is_restart;
use std::collections::HashMap;
use std::fs;

/// Signals that are ignored unless a program catches them (`signal(7)`).
const IGNORED: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGWINCH, libc::SIGURG];

/// The interrupted calls of one run.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    /// For each thread, whether ignored signals alone have interrupted its call.
    interrupted: HashMap<i32, bool>,
}

impl Restarts {
    /// A thread has returned from a call.
    pub(super) fn returned(&mut self, thread: i32, result: i64) {
        if is_restart(result) {
            self.interrupted.insert(thread, false);
        }
    }

    /// A signal is about to be delivered to a thread.
    pub(super) fn signalled(&mut self, thread: i32, signal: i32) {
        if self.interrupted.contains_key(&thread) {
            self.heard(thread, is_ignored(thread, signal));
        }
    }

    fn heard(&mut self, thread: i32, ignored: bool) {
        if !ignored {
            self.interrupted.remove(&thread);
        } else if let Some(continues) = self.interrupted.get_mut(&thread) {
            *continues = true;
        }
    }

    /// A thread enters a call. Returns whether this continues the interrupted one.
    pub(super) fn continues(&mut self, thread: i32) -> bool {
        self.interrupted.remove(&thread) == Some(true)
    }
}

/// Whether a thread's process ignores a signal.
fn is_ignored(thread: i32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{thread}/status"));
    status.is_ok_and(|status| ignores(&status, signal).unwrap_or(false))
}

/// From the sets `SigIgn` and `SigCgt` of `proc_pid_status(5)`.
fn ignores(status: &str, signal: i32) -> Option<bool> {
    let bit = 1_u64.checked_shl(u32::try_from(signal - 1).ok()?)?;
    let has = |name: &str| {
        let set = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(u64::from_str_radix(set.trim(), 16).ok()? & bit != 0)
    };
    Some(has("SigIgn:")? || (IGNORED.contains(&signal) && !has("SigCgt:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_ignored_by_default_or_by_choice() {
        let status =
            |ignored: &str, caught: &str| format!("Name:\ta\nSigIgn:\t{ignored}\nSigCgt:\t{caught}\n");
        let table = [
            ("0000000000000000", "0000000000000000", libc::SIGCHLD, true),
            ("0000000000000000", "0000000000010000", libc::SIGCHLD, false),
            ("0000000000000000", "0000000000000000", libc::SIGUSR1, false),
            ("0000000000000200", "0000000000000000", libc::SIGUSR1, true),
        ];
        for (ignored, caught, signal, expected) in table {
            assert_eq!(
                ignores(&status(ignored, caught), signal),
                Some(expected),
                "{ignored} {caught} {signal}"
            );
        }
        assert_eq!(ignores("", libc::SIGCHLD), None);
    }

    #[test]
    fn only_an_interrupted_call_continues_and_only_once() {
        let mut restarts = Restarts::default();
        restarts.heard(7, true);
        assert!(!restarts.continues(7), "nothing was interrupted");
        restarts.returned(7, -4);
        restarts.heard(7, true);
        assert!(!restarts.continues(7), "EINTR is a result");
        restarts.returned(7, -512);
        assert!(!restarts.continues(7), "no signal");
        restarts.returned(7, -512);
        restarts.heard(7, true);
        assert!(!restarts.continues(8) && restarts.continues(7) && !restarts.continues(7));
        restarts.returned(7, -513);
        restarts.heard(7, true);
        restarts.heard(7, false);
        assert!(!restarts.continues(7), "a signal that was not ignored would have interrupted it, too");
    }
}
