//! The deterministic tier: what one run did, counted.

use serde::{Deserialize, Serialize};

/// What a counting pass found in one run: the deterministic tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Processes of the tree, the tracee included.
    pub processes: u64,
    /// Threads of the tree, main threads included.
    pub threads: u64,
    /// Successful execs, the first included.
    pub execs: u64,
    /// System calls entered by the whole tree, from the tracee's first `execve` (counted) to its exit.
    pub syscalls: u64,
    /// Page faults, minor and major, of the whole tree.
    pub page_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Successful opens.
    pub files_opened: u64,
    /// Opens that failed.
    pub failed_opens: u64,
    /// Bytes that `read`-like calls returned.
    pub bytes_read: u64,
    /// Writes of output.
    pub writes: u64,
    /// Peak resident set size of the tracee (`VmHWM` at its exit), bytes.
    pub max_rss: u64,
}
