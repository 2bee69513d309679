//! What processes used, by the kernel's books.

use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// The resources that a reaped process and its waited-for children used (`getrusage(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// User time.
    pub user: Nanos,
    /// System time. Kernels that count ticks report 0 for short processes.
    pub system: Nanos,
    /// Peak resident set size of the largest process; `None` if it could be ours from before the exec.
    pub max_rss: Option<Bytes>,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Bytes that were read from disks for it.
    #[serde(default)]
    pub from_disk: Bytes,
    /// How often it gave up or lost the processor.
    #[serde(default)]
    pub context_switches: u64,
}

impl Usage {
    /// From `wait4(2)`.
    ///
    /// `exec` adds the peak of the memory that it leaves to the process's own peak (`exec_mmap` in fs/exec.c), and
    /// with vfork that memory is ours. So a value that does not exceed our own peak says nothing about the tracee.
    pub(crate) fn from_kernel(usage: &libc::rusage) -> Usage {
        let kibibytes = usage.ru_maxrss.unsigned_abs();
        Usage {
            user: from_timeval(usage.ru_utime),
            system: from_timeval(usage.ru_stime),
            max_rss: exceeds_own_peak(kibibytes).then_some(Bytes(kibibytes * 1024)),
            minor_faults: usage.ru_minflt.unsigned_abs(),
            major_faults: usage.ru_majflt.unsigned_abs(),
            // In units of 512 bytes: task_io_get_inblock() in include/linux/task_io_accounting_ops.h.
            from_disk: Bytes(usage.ru_inblock.unsigned_abs() * 512),
            context_switches: (usage.ru_nvcsw + usage.ru_nivcsw).unsigned_abs(),
        }
    }
}

/// Asks the kernel only if the value exceeds the last answer: a peak never falls.
fn exceeds_own_peak(kibibytes: u64) -> bool {
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    // ORDERING: a value of its own, which stands for nothing else.
    if kibibytes > KNOWN.load(Ordering::Relaxed) {
        KNOWN.store(usage_of(libc::RUSAGE_SELF).ru_maxrss.unsigned_abs(), Ordering::Relaxed);
    }
    kibibytes > KNOWN.load(Ordering::Relaxed)
}

/// Processor time used so far by us and by our reaped children.
pub fn own_processor_time() -> Nanos {
    let used = [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].map(usage_of);
    used.iter().flat_map(|usage| [usage.ru_utime, usage.ru_stime]).map(from_timeval).sum()
}

/// See `getrusage(2)`.
fn usage_of(whom: libc::c_int) -> libc::rusage {
    // SAFETY: plain data, filled by the kernel.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whom, &raw mut usage);
        usage
    }
}

fn from_timeval(time: libc::timeval) -> Nanos {
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_figures_are_added_and_have_its_units() {
        let mut usage = usage_of(libc::RUSAGE_SELF);
        (usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_inblock) = (3, 4, 5);
        (usage.ru_minflt, usage.ru_majflt) = (6, 7);
        let read = Usage::from_kernel(&usage);
        assert_eq!((read.context_switches, read.from_disk), (7, Bytes(2560)));
        assert_eq!((read.minor_faults, read.major_faults), (6, 7));
    }
}
