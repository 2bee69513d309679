//! Watches a traced run: reads its output, keeps to the time limit, ends stopped tracees.
//!
//! The tracing thread sleeps only in `wait4`, so that it handles every stop at once. Meanwhile the thread that
//! asked for the run watches. For the first 50 ms it does not read the pipe, because a waiting reader would be
//! woken during the tracee's write. A tracee that fills its pipe earlier has to wait for the rest of that time, but
//! only once: the next runs of such a program are read while they write.

use super::rescue::{Deadline, Rescue};
use crate::clock;
use crate::launch::ready::ChildEnd;
use crate::launch::wait::{Ending, Killed, STANDSTILL, Watch, reason_to_kill};
use crate::launch::{Child, Stdout};
use crate::units::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// How often we look. An interruption takes at most twice as long.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A run that has begun.
#[derive(Debug)]
pub(super) struct Watched<'r> {
    child: &'r Child,
    stdout: &'r mut Stdout,
    end: ChildEnd,
    watch: Watch,
}

/// The signal that stopped the tracee, 0 while it runs, and above these eight bits the number of its stops. The tracing
/// thread sets it, the watching thread reads it.
#[derive(Debug, Default)]
pub(super) struct Standstill(AtomicU64);

/// One stop of the tracee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    signal: i32,
    number: u64,
}

impl Standstill {
    pub(super) fn set(&self, signal: i32) {
        // ORDERING: a lone number that publishes nothing else; one thread writes it.
        let number = (self.0.load(Ordering::Relaxed) >> 8) + u64::from(signal != 0);
        self.0.store(number << 8 | u64::from(signal.unsigned_abs() & 0xff), Ordering::Relaxed);
    }

    fn get(&self) -> Option<Stop> {
        // ORDERING: as above.
        let value = self.0.load(Ordering::Relaxed);
        let signal = i32::try_from(value & 0xff).unwrap_or_default();
        (signal != 0).then_some(Stop { signal, number: value >> 8 })
    }
}

/// The present stop, and when it was first seen.
fn standing_since(before: Option<(Stop, Nanos)>, present: Option<Stop>, now: Nanos) -> Option<(Stop, Nanos)> {
    present.map(|stop| before.filter(|(earlier, _)| *earlier == stop).unwrap_or((stop, now)))
}

/// The signal that stopped a tracee, if nobody has continued it for long.
fn stood_still((stop, from): (Stop, Nanos), now: Nanos) -> Option<i32> {
    let elapsed = Duration::from_nanos(now.0.saturating_sub(from.0));
    (elapsed >= STANDSTILL).then_some(stop.signal)
}

impl<'r> Watched<'r> {
    /// For a tracee that has been seized.
    pub(super) fn new(child: &'r Child, stdout: &'r mut Stdout, watch: Watch) -> Watched<'r> {
        Watched { child, stdout, end: ChildEnd::of(child.pid), watch }
    }

    /// Watches until the tracee has exited, or nobody traces it any more. Returns why we killed it, if we did. If it does
    /// not die, it is rescued. `tracing`: the tracing thread holds the sending end.
    pub(super) fn until_exited(
        &mut self,
        timeout: Option<Duration>,
        stands: &Standstill,
        rescue: &Rescue,
        tracing: &Receiver<()>,
    ) -> Option<Killed> {
        let mut deadline = Deadline::default();
        let mut standing: Option<(Stop, Nanos)> = None;
        let mut ending = Ending::default();

        loop {
            let elapsed = since(self.child.spawned);
            standing = standing_since(standing, stands.get(), clock::now());
            let stopped = standing.and_then(|it| stood_still(it, clock::now()));
            let left = timeout.map(|limit| limit.saturating_sub(elapsed));
            self.stdout.look();

            if self.stdout.is_reached() {
                // We may kill it, because the exec of a traced program gets no privilege that its tracer lacks.
                let _ = ending.ask(self.child);
            } else if ending.killed.is_none() {
                ending.killed = reason_to_kill(left, stopped);
                if ending.killed.is_some() {
                    // The tracing thread learns of its death and kills the rest.
                    self.end.kill();
                }
            }

            if deadline.has_passed(ending.has_begun()) {
                rescue.ask();
                if let Err(TryRecvError::Disconnected) = tracing.try_recv() {
                    return ending.killed;
                }
            }

            let pause = if ending.has_begun() {
                POLL_INTERVAL
            } else {
                left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL)
            };
            let pause = if ending.has_begun() { pause } else { self.stdout.pause(pause, elapsed) };

            if self.watch == Watch::Exit && elapsed >= POLL_INTERVAL {
                self.stdout.note_whether_full();
                self.watch = Watch::Arrival;
            }

            if self.has_exited_within(pause, self.watch == Watch::Arrival || self.stdout.is_awaited()) {
                return ending.killed;
            }
        }
    }

    /// If `reading` is set, output ends the wait, too.
    fn has_exited_within(&mut self, pause: Duration, reading: bool) -> bool {
        let outputs = if reading { self.stdout.pollable() } else { [-1; 3] };
        let (ended, has_output) = self.end.wait(outputs, pause);
        if has_output && reading {
            self.stdout.drain();
        }
        ended
    }
}

/// Waits until the tracing thread has ended. It holds the sending end, and sends nothing more. The tracee has
/// exited, so the rest of its tree is being killed.
pub(super) fn until_untraced<T>(tracing: &Receiver<T>, rescue: &Rescue) {
    let mut deadline = Deadline::default();
    while let Err(RecvTimeoutError::Timeout) = tracing.recv_timeout(POLL_INTERVAL) {
        if deadline.has_passed(true) {
            rescue.ask();
        }
    }
}

fn since(instant: Nanos) -> Duration {
    Duration::from_nanos(clock::now().0.saturating_sub(instant.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stop_has_its_own_number_and_none_lasts_beyond_a_continuation() {
        let standstill = Standstill::default();
        assert_eq!(standstill.get(), None);
        standstill.set(19);
        assert_eq!(standstill.get(), Some(Stop { signal: 19, number: 1 }));
        standstill.set(0);
        assert_eq!(standstill.get(), None);
        standstill.set(20);
        assert_eq!(standstill.get(), Some(Stop { signal: 20, number: 2 }));
    }

    #[test]
    fn only_the_same_stop_for_a_second_is_a_standstill() {
        let [first, second] = [1, 2].map(|number| Stop { signal: 19, number });
        let begun = standing_since(None, Some(first), Nanos(5)).unwrap();
        assert_eq!(begun, (first, Nanos(5)));
        assert_eq!(standing_since(Some(begun), Some(first), Nanos(9)), Some(begun));
        assert_eq!(standing_since(Some(begun), Some(second), Nanos(9)), Some((second, Nanos(9))));
        assert_eq!(standing_since(Some(begun), None, Nanos(9)), None);

        let limit = u64::try_from(STANDSTILL.as_nanos()).unwrap();
        assert_eq!(stood_still(begun, Nanos(4 + limit)), None);
        assert_eq!(stood_still(begun, Nanos(5 + limit)), Some(19));
    }
}
