//! The clock of all measurements: `CLOCK_MONOTONIC`, which `bpf_ktime_get_ns` also reads.

use crate::units::Nanos;
use std::time::Duration;

/// Now, by `CLOCK_MONOTONIC`.
#[inline]
pub fn now() -> Nanos {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `at` is valid for writing, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at) };
    Nanos(at.tv_sec.unsigned_abs() * 1_000_000_000 + at.tv_nsec.unsigned_abs())
}

/// Sleeps at most this long: a signal ends it, too. Where the kernel refuses to let us sleep, other threads get a turn; the
/// standard library would panic.
pub fn pause(time: Duration) {
    let time = rustix::thread::Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    if let rustix::thread::NanosleepRelativeResult::Err(_) = rustix::thread::nanosleep(&time) {
        std::thread::yield_now();
    }
}
