//! The deterministic tier: counts of what one run did.

use serde::{Deserialize, Serialize};

/// What a counting pass found in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Processes of the tree, the tracee included.
    pub processes: u64,
    /// Threads of the tree, main threads included.
    pub threads: u64,
    /// Successful execs, the first included.
    pub execs: u64,
    /// System calls that the whole tree entered, from the tracee's first `execve` (which counts) to its exit.
    pub syscalls: u64,
    /// Page faults, minor and major, of the whole tree.
    pub page_faults: u64,
    /// Page faults that required I/O.
    pub major_faults: u64,
    /// Successful opens.
    pub files_opened: u64,
    /// Opens that failed.
    pub failed_opens: u64,
    /// Bytes that `read(2)` and its variants returned.
    pub bytes_read: u64,
    /// Writes of output.
    pub writes: u64,
    /// Peak resident set size of the tracee in bytes (`VmHWM` at its exit).
    pub max_rss: u64,
}

impl Counts {
    /// Combines several runs. `combine` is called once for each count, with its values in all runs. Returns `None`
    /// if `combine` does, as for no runs at all.
    pub fn combined(runs: &[Counts], combine: impl Fn(Vec<u64>) -> Option<u64>) -> Option<Counts> {
        let count = |of: fn(&Counts) -> u64| combine(runs.iter().map(of).collect());
        Some(Counts {
            processes: count(|c| c.processes)?,
            threads: count(|c| c.threads)?,
            execs: count(|c| c.execs)?,
            syscalls: count(|c| c.syscalls)?,
            page_faults: count(|c| c.page_faults)?,
            major_faults: count(|c| c.major_faults)?,
            files_opened: count(|c| c.files_opened)?,
            failed_opens: count(|c| c.failed_opens)?,
            bytes_read: count(|c| c.bytes_read)?,
            writes: count(|c| c.writes)?,
            max_rss: count(|c| c.max_rss)?,
        })
    }
}
