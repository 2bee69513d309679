//! The clock of all measurements: `CLOCK_MONOTONIC`, which `bpf_ktime_get_ns` also reads.

use crate::units::Nanos;

/// Now, by `CLOCK_MONOTONIC`.
#[inline]
pub fn now() -> Nanos {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `at` is valid for writing, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at) };
    Nanos(at.tv_sec.unsigned_abs() * 1_000_000_000 + at.tv_nsec.unsigned_abs())
}
