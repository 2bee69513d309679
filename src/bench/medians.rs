//! The medians of what several runs were counted to do.

use crate::stats::median_count;
use firstbyte_measure::Counts;

/// The median of each count over all runs; `None` without runs.
pub fn medians(runs: &[Counts]) -> Option<Counts> {
    let count = |of: fn(&Counts) -> u64| median_count(runs.iter().map(of).collect());
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
