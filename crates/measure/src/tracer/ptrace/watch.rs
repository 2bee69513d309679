//! What goes on beside the tracing: output drained, time limit kept, interruption obeyed, stopped tracees ended.
//!
//! The tracing thread sleeps in `wait4` and nowhere else, so that every stop is answered at once. The thread that
//! asked for the run watches meanwhile. It leaves the pipe alone for the first 50 ms: a reader that waits would be
//! woken within the tracee's write. A tracee that fills its pipe sooner waits for the rest of them, once: the next runs
//! of a program that was seen to do so are read as they write.

use super::rescue::{Overdue, Rescue};
use crate::clock;
use crate::launch::wait::{Ending, Killed, Watch};
use crate::launch::{Child, Stdout, interrupt};
use crate::units::Nanos;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often we look; half of what an interruption may take.
const LOOK: Duration = Duration::from_millis(50);

/// For how long a tracee that has stopped itself may stand still: somebody of its own may continue it.
const STANDSTILL: Duration = Duration::from_millis(100);

/// A run that has begun.
#[derive(Debug)]
pub(super) struct Watched<'r> {
    child: &'r Child,
    stdout: &'r mut Stdout,
    process: OwnedFd,
    watch: Watch,
}

/// The signal by which the tracee stands still, 0 while it runs: the tracing thread tells, the watching one asks.
#[derive(Debug, Default)]
pub(super) struct Standstill(AtomicI32);

impl Standstill {
    pub(super) fn set(&self, signal: i32) {
        // ORDERING: a lone number that publishes nothing else.
        self.0.store(signal, Ordering::Relaxed);
    }

    fn get(&self) -> Option<i32> {
        // ORDERING: as above.
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }
}

impl<'r> Watched<'r> {
    /// A tracee that has been seized; `process` is its pidfd.
    pub(super) fn new(
        child: &'r Child,
        stdout: &'r mut Stdout,
        process: OwnedFd,
        watch: Watch,
    ) -> Watched<'r> {
        Watched { child, stdout, process, watch }
    }

    /// Watches until the tracee has exited, and says why we killed it, if we did. One that does not die of that is
    /// rescued.
    pub(super) fn until_exited(
        &mut self,
        timeout: Option<Duration>,
        stands: &Standstill,
        rescue: &Rescue,
    ) -> Option<Killed> {
        let mut overdue = Overdue::default();
        let mut standing: Option<Nanos> = None;
        let mut ending = Ending::default();
        loop {
            let elapsed = since(self.child.spawned);
            standing = stands.get().and(standing.or_else(|| Some(clock::now())));
            let stopped = standing.filter(|from| since(*from) >= STANDSTILL).and_then(|_| stands.get());
            let left = timeout.map(|limit| limit.saturating_sub(elapsed));
            if self.stdout.is_reached() {
                // It is ours to kill: a traced program's exec gives it no privilege that its tracer lacks.
                let _ = ending.ask(self.child);
            } else if ending.killed.is_none() {
                ending.killed = reason_to_kill(left, stopped);
                if ending.killed.is_some() {
                    self.kill();
                }
            }
            if overdue.is_so(ending.has_begun()) {
                rescue.ask();
            }
            let pause = if ending.has_begun() { LOOK } else { left.unwrap_or(LOOK).min(LOOK) };
            if self.watch == Watch::Exit && elapsed >= LOOK {
                self.stdout.note_whether_full();
                self.watch = Watch::Arrival;
            }
            if self.has_exited_within(pause, self.watch == Watch::Arrival || self.stdout.is_awaited()) {
                return ending.killed;
            }
        }
    }

    /// Waits for output too, if `reading`.
    fn has_exited_within(&mut self, pause: Duration, reading: bool) -> bool {
        let output = self.stdout.pollable().filter(|_| reading).unwrap_or(-1); // which poll(2) passes over
        let of = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut asked = [of(self.process.as_raw_fd()), of(output)];
        // rounded up: a pause must not become a busy loop
        let milliseconds = i32::try_from(pause.as_millis()).unwrap_or(i32::MAX).saturating_add(1);
        // SAFETY: the array is valid for its length.
        unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, milliseconds) };
        if asked[1].revents != 0 {
            self.stdout.drain();
        }
        asked[0].revents != 0
    }

    /// Kills the tracee; the tracing thread hears of its death and kills the rest.
    fn kill(&self) {
        let (process, no_details) = (self.process.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
        // SAFETY: the descriptor names this process and no later one; `siginfo` may be null.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process, libc::SIGKILL, no_details, 0) };
    }
}

/// Waits until the tracing thread has ended, which holds the sending end: nothing else comes of it any more. The tracee
/// has exited, so the rest of its tree is being killed.
pub(super) fn until_untraced<T>(tracing: &Receiver<T>, rescue: &Rescue) {
    let mut overdue = Overdue::default();
    while let Err(RecvTimeoutError::Timeout) = tracing.recv_timeout(LOOK) {
        if overdue.is_so(true) {
            rescue.ask();
        }
    }
}

fn reason_to_kill(left: Option<Duration>, stopped: Option<i32>) -> Option<Killed> {
    if interrupt::interrupted().is_some() {
        return Some(Killed::Interrupted);
    }
    if left.is_some_and(|left| left.is_zero()) {
        return Some(Killed::TimedOut);
    }
    stopped.map(Killed::Stopped)
}

fn since(instant: Nanos) -> Duration {
    Duration::from_nanos(clock::now().0.saturating_sub(instant.0))
}
