//! How long threads have had a processor, as the kernel accounts it.

use super::task_tree::Task;
use crate::tracer::event::OnProcessor;
use std::collections::HashMap;
use std::fs::File;
use std::io;
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
            if let Ok(times) = read(file) {
                return times;
            }
            // it was that of a thread which had the id before
            self.forget(task.thread);
        }
        let file = File::open(format!("/proc/{}/task/{}/schedstat", task.process, task.thread)).ok()?;
        let times = read(&file).ok()?;
        if self.files.len() < KEPT {
            self.files.insert(task.thread, file);
        }
        times
    }

    /// A thread is about to exit, or has another id.
    pub(super) fn forget(&mut self, thread: i32) {
        self.files.remove(&thread);
    }
}

/// Three numbers (Documentation/scheduler/sched-stats.rst). All are 0 without `CONFIG_SCHED_INFO`.
fn read(file: &File) -> io::Result<Option<OnProcessor>> {
    let mut room = [0; 64];
    let read = file.read_at(&mut room, 0)?;
    Ok(str::from_utf8(&room[..read]).ok().and_then(parsed))
}

fn parsed(text: &str) -> Option<OnProcessor> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok();
    let times = OnProcessor::from([next()?, next()?, next()?]);
    (times.turns > 0).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_are_read() {
        assert_eq!(parsed("1500 20 3\n"), Some(OnProcessor::from([1500, 20, 3])));
    }

    #[test]
    fn a_kernel_that_does_not_account_it_says_nothing() {
        for text in ["0 0 0\n", "", "1 2\n", "a b c\n"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn files_of_threads_that_are_gone_are_closed() {
        let own = std::process::id().cast_signed();
        let mut times = ProcessorTimes::default();
        times.of(Task { process: own, thread: own });
        assert_eq!(times.files.len(), usize::from(File::open("/proc/self/schedstat").is_ok()));
        times.forget(own);
        assert!(times.files.is_empty());
    }

    #[test]
    fn the_file_of_a_thread_that_had_the_id_before_is_replaced() {
        let own = std::process::id().cast_signed();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let stale = File::open(format!("/proc/{0}/task/{0}/schedstat", child.id()));
        child.wait().unwrap();
        let mut times = ProcessorTimes { files: stale.map(|file| (own, file)).into_iter().collect() };
        times.of(Task { process: own, thread: own });
        assert!(times.files.get(&own).is_none_or(|file| read(file).is_ok()));
    }
}
