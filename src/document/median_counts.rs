//! What the counting runs counted.

use serde::{Deserialize, Serialize};

/// Medians of the counting runs. They hardly vary; what was not counted is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MedianCounts {
    /// The tracee included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Main threads included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Successful ones, the first included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syscalls: Option<u64>,
    /// Minor and major ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<u64>,
    /// Page faults that needed I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_opened: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_opens: Option<u64>,
    /// Bytes that `read`-like calls returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Writes of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Peak resident set size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rss: Option<u64>,
    /// The program's own instructions, where the processor's counters are available; also the following counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Instructions of the kernel on behalf of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions_kernel: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles_kernel: Option<u64>,
    /// Mispredicted branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_misses: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_misses_kernel: Option<u64>,
    /// Misses of the last cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_misses: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_misses_kernel: Option<u64>,
}

impl MedianCounts {
    /// Each count that is known, by its name in the document.
    pub fn known(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("processes", self.processes),
            ("threads", self.threads),
            ("execs", self.execs),
            ("syscalls", self.syscalls),
            ("page_faults", self.page_faults),
            ("major_faults", self.major_faults),
            ("files_opened", self.files_opened),
            ("failed_opens", self.failed_opens),
            ("bytes_read", self.bytes_read),
            ("writes", self.writes),
            ("max_rss", self.max_rss),
            ("instructions", self.instructions),
            ("instructions_kernel", self.instructions_kernel),
            ("cycles", self.cycles),
            ("cycles_kernel", self.cycles_kernel),
            ("branch_misses", self.branch_misses),
            ("branch_misses_kernel", self.branch_misses_kernel),
            ("cache_misses", self.cache_misses),
            ("cache_misses_kernel", self.cache_misses_kernel),
        ];

        all.into_iter().filter_map(|(name, count)| Some((name, count?))).collect()
    }
}
