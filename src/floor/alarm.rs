//! An alarm for waits without a limit, to detect a program that never ends.

use firstbyte_measure::launch::nudge::interrupt_waits_by;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A timer that interrupts the system calls of the thread that created it, repeatedly once its time has come. It costs
/// nothing while it waits.
pub(super) struct Alarm(libc::timer_t);

/// Whether the last alarm that was set has rung. Only one thread measures.
static RANG: AtomicBool = AtomicBool::new(false);

/// The alarm repeats because a first interruption may come just before the wait.
const AGAIN: Duration = Duration::from_millis(100);

impl Alarm {
    /// For the calling thread (`SIGEV_THREAD_ID`, see `timer_create(2)`): another thread could receive a signal that is
    /// sent to the process.
    pub(super) fn of_this_thread() -> io::Result<Alarm> {
        interrupt_waits_by(libc::SIGALRM, remember);
        let mut timer = ptr::null_mut();
        // SAFETY: plain data, zeroed is valid; room for the timer's id; gettid has no effects.
        let failed = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGALRM;
            event.sigev_notify_thread_id = libc::gettid();

            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer)
        };
        if failed == 0 { Ok(Alarm(timer)) } else { Err(io::Error::last_os_error()) }
    }

    /// Rings after `limit`. Zero means never.
    pub(super) fn set(&self, limit: Duration) {
        // ORDERING: set and read by one thread, in which the handler runs too.
        RANG.store(false, Ordering::Relaxed);
        let time = |duration: Duration| libc::timespec {
            tv_sec: duration.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: duration.subsec_nanos().into(),
        };
        let times = libc::itimerspec { it_value: time(limit), it_interval: time(AGAIN) };
        // SAFETY: a timer that exists, and plain data.
        unsafe { libc::timer_settime(self.0, 0, &raw const times, ptr::null_mut()) };
    }

    /// Whether the alarm has rung since it was set.
    pub(super) fn rang() -> bool {
        RANG.load(Ordering::Relaxed)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: a timer that exists.
        unsafe { libc::timer_delete(self.0) };
    }
}

extern "C" fn remember(_: libc::c_int) {
    RANG.store(true, Ordering::Relaxed);
}
