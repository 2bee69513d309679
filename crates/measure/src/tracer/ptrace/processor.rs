//! How long threads have had a processor, as the kernel accounts it.

use super::task_tree::Task;
use crate::tracer::event::OnProcessor;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// How many files stay open. The limit of descriptors is 1024 on many systems, and firstbyte needs some itself.
const KEPT: usize = 64;

/// Reads it for threads that are stopped. Meanwhile it does not change: the kernel has accounted all of it, because a request
/// of `ptrace(2)` waits until the thread is off its processor (`wait_task_inactive` in kernel/sched/core.c).
#[derive(Debug, Default)]
pub(super) struct ProcessorTimes {
    files: HashMap<i32, File>,
}

impl ProcessorTimes {
    /// `None`: the kernel does not account it, or the thread is gone.
    pub(super) fn of(&mut self, task: Task) -> Option<OnProcessor> {
        if let Some(file) = self.files.get(&task.thread) {
            return read(file);
        }
        let file = File::open(format!("/proc/{}/task/{}/schedstat", task.process, task.thread)).ok()?;
        let times = read(&file);
        if self.files.len() < KEPT {
            self.files.insert(task.thread, file);
        }
        times
    }

    /// A thread is about to exit. Another one may get its id.
    pub(super) fn forget(&mut self, thread: i32) {
        self.files.remove(&thread);
    }
}

/// Three numbers (Documentation/scheduler/sched-stats.rst). All are 0 without `CONFIG_SCHED_INFO`.
fn read(file: &File) -> Option<OnProcessor> {
    let mut room = [0; 64];
    let read = file.read_at(&mut room, 0).ok()?;
    let text = str::from_utf8(&room[..read]).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok();
    let times = OnProcessor::from([next()?, next()?, next()?]);
    (times.turns > 0).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn three_numbers_are_read() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"1500 20 3\n").unwrap();
        assert_eq!(read(&file), Some(OnProcessor::from([1500, 20, 3])));
    }

    #[test]
    fn a_kernel_that_does_not_account_it_says_nothing() {
        for text in ["0 0 0\n", "", "1 2\n", "a b c\n"] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            assert_eq!(read(&file), None, "{text}");
        }
    }

    #[test]
    fn files_of_threads_that_are_gone_are_closed() {
        let own = std::process::id().cast_signed();
        let mut times = ProcessorTimes::default();
        times.of(Task { process: own, thread: own });
        times.forget(own);
        assert!(times.files.is_empty());
    }
}
