//! The event that stops a thread when it has used the processor for one period.

use super::super::rings::SET_PERIOD;
use crate::units::Nanos;
use perf_event::events::Software;
use perf_event::{Builder, Counter};
use std::io;
use std::os::fd::AsRawFd;

/// The event of one thread, which must be traced: it gets SIGTRAP. The exec of the process ends it.
#[derive(Debug)]
pub(super) struct Event(Counter);

impl Event {
    /// The thread is stopped first after `first`, and after each such time again.
    ///
    /// # Errors
    ///
    /// The kernel is older than 5.13 or forbids it, or there are too many descriptors.
    pub(super) fn open(thread: i32, first: Nanos) -> io::Result<Event> {
        let mut builder = Builder::new(Software::CPU_CLOCK);
        builder.observe_pid(thread).any_cpu().enabled(true);
        // A stop in user code is synchronous: no system call is interrupted.
        builder.exclude_kernel(true).exclude_hv(true).sample_period(first.0.max(1));
        builder.sigtrap(true).remove_on_exec(true);
        builder.build().map(Event)
    }

    /// From now on it is stopped after each such time. No error: an event that does not exist any more stops nothing.
    pub(super) fn set_period(&self, period: Nanos) {
        // SAFETY: the descriptor is open, and the kernel only reads the number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SET_PERIOD, &raw const period.0) };
    }
}
