//! Counts exactly what a run does, at the stops of its system calls and exits.
//!
//! The tracee's memory is not read: reading a page that the tracee has not touched yet would cause a page fault,
//! which would be counted.
//!
//! # Page faults
//!
//! The count is that of `perf stat -e page-faults`: faults that the processor took since the tracee's first
//! `execve`, including those that the kernel takes while it sets up the new image. The kernel's own number for a
//! thread (`/proc/PID/task/TID/stat`) is higher. It includes pages that the kernel fetched without a fault, by
//! `get_user_pages` (`mm_account_fault` in `mm/memory.c`). An exec does that once for every page of the new stack
//! into which it copies strings, so those pages are subtracted. Pages that a program itself makes the kernel fetch
//! (`MAP_POPULATE`, `mlock`) are still counted, while perf does not count them.

use super::task_tree::Task;
use crate::Counts;
use crate::arch::{FileCall, Syscall, file_calls};
use crate::tracer::event::is_restart;
use std::collections::HashMap;
use std::fs;

/// Counts of one run so far.
#[derive(Debug)]
pub(super) struct Tally {
    root: i32,
    span: Span,
    counts: Counts,
    /// File calls in flight, by thread.
    flights: HashMap<i32, FileCall>,
    /// The tracee's faults before its first exec.
    before: Faults,
    /// Number of pages into which execs have copied arguments and environment.
    strings: u64,
}

/// System calls are counted from the tracee's first `execve` to its exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Before,
    Within,
    After,
}

/// The page faults of one thread, from `/proc/PID/task/TID/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Faults {
    minor: u64,
    major: u64,
}

impl Faults {
    fn all(self) -> u64 {
        self.minor + self.major
    }
}

impl Tally {
    /// For the tree that begins with `root`.
    pub(super) fn new(root: i32) -> Tally {
        let counts = Counts { processes: 1, threads: 1, ..Counts::default() };
        let (flights, before) = (HashMap::new(), Faults::default());
        Tally { root, span: Span::Before, counts, flights, before, strings: 0 }
    }

    /// A thread has entered a system call, either for the first time or because an interrupted call `continues`.
    pub(super) fn entered(&mut self, task: Task, call: Syscall, is_exec: bool, continues: bool) {
        if self.span == Span::Before && is_exec {
            self.span = Span::Within;
            self.before = faults_of(task.thread);
        }
        if self.span == Span::Within {
            self.counts.syscalls += u64::from(!continues);
            if let Some(does) = file_calls().get(call) {
                self.flights.insert(task.thread, does);
            }
        }
    }

    /// A thread has returned from a system call. Returns what the call did with files, if it succeeded.
    pub(super) fn returned(&mut self, task: Task, result: i64) -> Option<FileCall> {
        let flight = self.flights.remove(&task.thread);
        match flight {
            Some(FileCall::Open) if result >= 0 => self.counts.files_opened += 1,
            Some(FileCall::Open) if !is_restart(result) => self.counts.failed_opens += 1,
            Some(FileCall::Read) if result > 0 => self.counts.bytes_read += result.unsigned_abs(),
            _ => {}
        }
        flight.filter(|_| result >= 0)
    }

    /// An exec has succeeded; `former` is the id of the thread that called it.
    pub(super) fn executed(&mut self, task: Task, former: i32) {
        self.flights.remove(&former);
        self.counts.execs += 1;
        self.strings += pages_of_strings(task.thread).unwrap_or_default();
    }

    /// A thread has been created, the first of its process or a further one.
    pub(super) fn created(&mut self, is_process: bool) {
        self.counts.threads += 1;
        self.counts.processes += u64::from(is_process);
    }

    /// A thread is about to exit. This is the last instant at which its numbers can be read.
    pub(super) fn exiting(&mut self, task: Task, group_dead: bool) {
        self.flights.remove(&task.thread);
        let faults = faults_of(task.thread);
        self.counts.page_faults += faults.all();
        self.counts.major_faults += faults.major;
        if task.process == self.root {
            self.counts.max_rss = self.counts.max_rss.max(peak_memory_of(task.thread));
            if group_dead {
                self.span = Span::After;
            }
        }
    }

    /// The final counts.
    pub(super) fn finish(mut self, writes: u64) -> Counts {
        self.counts.page_faults = self.counts.page_faults.saturating_sub(self.before.all() + self.strings);
        self.counts.major_faults = self.counts.major_faults.saturating_sub(self.before.major);
        self.counts.writes = writes;
        self.counts
    }
}

/// The page faults of one thread so far, without those of its waited-for children.
fn faults_of(thread: i32) -> Faults {
    let stat = fs::read_to_string(format!("/proc/{thread}/task/{thread}/stat"));
    parse_faults(&stat.unwrap_or_default()).unwrap_or_default()
}

/// `minflt` and `majflt`, fields 10 and 12 of `proc_pid_stat(5)`. The name in field 2 may contain anything, even a
/// `)`.
fn parse_faults(stat: &str) -> Option<Faults> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some(Faults { minor, major })
}

/// The pages into which the last exec copied its strings: from the first argument to the end of the stack
/// (`copy_strings` in `fs/exec.c`). `None` for a program that we may not examine.
fn pages_of_strings(thread: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
    let maps = fs::read_to_string(format!("/proc/{thread}/maps")).ok()?;
    let page = rustix::param::page_size() as u64;
    let first = arguments_start(&stat).filter(|address| *address > 0)? / page;
    Some((stack_end(&maps)? / page).saturating_sub(first))
}

/// `arg_start`, field 48 of `proc_pid_stat(5)`.
fn arguments_start(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(45)?.parse().ok()
}

/// The end of the mapping named `[stack]`.
fn stack_end(maps: &str) -> Option<u64> {
    let line = maps.lines().find(|line| line.ends_with("[stack]"))?;
    let (_, end) = line.split_whitespace().next()?.split_once('-')?;
    u64::from_str_radix(end, 16).ok()
}

/// Peak resident set size of a thread's process in bytes (`VmHWM` of `proc_pid_status(5)`, in kibibytes there).
fn peak_memory_of(thread: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{thread}/task/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse().ok());
    kibibytes.unwrap_or(0_u64) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found_after_any_name() {
        let stat = "12 (a) b (c) R 1 12 12 0 -1 4194304 77 5 3 0 0 0";
        assert_eq!(parse_faults(stat), Some(Faults { minor: 77, major: 3 }));
        assert_eq!(parse_faults(stat).map(Faults::all), Some(80));
        assert_eq!(parse_faults(""), None);
        assert_eq!(parse_faults("12 (a) R 1"), None);
    }

    #[test]
    fn the_pages_of_an_execs_strings_end_with_the_stack() {
        let stat = format!("12 (a) R {} 140737488347136 0", vec!["1"; 44].join(" "));
        assert_eq!(arguments_start(&stat), Some(140_737_488_347_136));
        let maps = "00400000-00401000 r-xp 0 0:1 7 /a\n7ffffffde000-7ffffffff000 rw-p 0 00:00 0    [stack]\n";
        assert_eq!(stack_end(maps), Some(0x7fff_ffff_f000));
        // Our own: at least a page, and not the whole stack.
        assert!((1..100).contains(&pages_of_strings(std::process::id().cast_signed()).unwrap()));
    }

    #[test]
    fn our_own_peak_memory_is_positive() {
        // SAFETY: gettid has no arguments and no effects.
        assert!(peak_memory_of(unsafe { libc::gettid() }) > 0);
    }
}
