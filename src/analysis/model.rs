//! What one start-up comes to: the types alone. [`Account::of`](super::Account::of) fills them.

use super::step::{Step, What};
use firstbyte_measure::Counts;
use firstbyte_measure::arch::CallFacts;
use firstbyte_measure::timeline::Phases;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// One run, explained.
#[derive(Clone, Debug)]
pub struct Account {
    pub phases: Phases,
    /// From the entry of the first `execve` to the tracee's exit.
    pub total: Nanos,
    /// From just before the process was created until it was reaped.
    pub wall: Nanos,
    /// The tracee's process id.
    pub root: u32,
    /// The tracee's main thread first, then the others in the order in which they began.
    pub threads: Vec<ThreadAccount>,
    /// In the order in which they began.
    pub processes: Vec<ProcessAccount>,
    /// Who worked while others waited for it: pieces that lie end to end, from the first `execve` to the exit.
    pub path: Vec<PathPiece>,
    /// What happened on the path, in order. The own times sum to the total exactly.
    pub steps: Vec<Step>,
    /// Every file that was opened, looked for, mapped or read.
    pub files: Vec<FileAccount>,
    /// Names that were looked for in several places.
    pub searches: Vec<FileSearch>,
    /// The figures that hardly vary from run to run.
    pub counts: Counts,
    /// Events that the tracer lost.
    pub lost: u64,
    /// Computed when it is first asked for, from the path and its steps.
    pub(super) taken: OnceLock<AllTaken>,
}

/// The times of the path in which a thread could have run, but another one had the processor.
#[derive(Clone, Debug, Default)]
pub struct AllTaken {
    pub ours: Taken,
    pub others: Taken,
    /// Some of the program's threads that had the processor belong to another process than the one that waited for it.
    pub other_processes: bool,
    /// What other programs took: the places of the steps, in order, and the time of each.
    pub by_others: Vec<(usize, Nanos)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    pub time: Nanos,
    pub times: usize,
}

impl Taken {
    pub(super) fn add(&mut self, time: Nanos) {
        self.time = self.time + time;
        self.times += usize::from(time.0 > 0);
    }
}

impl Account {
    /// Page faults of all threads. A backend that saw none does not see them, because no program starts without one: `None`.
    pub fn page_faults(&self) -> Option<u64> {
        Some(self.counts.page_faults).filter(|faults| *faults > 0)
    }

    /// How many system calls wrote to stderr, in all threads and processes.
    pub fn writes_to_stderr(&self) -> usize {
        self.writes_to("stderr")
    }

    /// How many system calls wrote to what the descriptions of calls name so, in all threads and processes.
    pub(super) fn writes_to(&self, name: &str) -> usize {
        self.writers(name).count()
    }

    /// The processes that wrote to the tracee's stdout. Some runtimes write no bytes first, to see whether that works.
    pub fn printing_processes(&self) -> BTreeSet<u32> {
        let writes = self.writers("stdout").filter(|(_, text)| !text.ends_with(" = 0"));
        writes.map(|(process, _)| process).collect()
    }

    /// The process of each such call, and the call.
    fn writers<'a>(&'a self, name: &str) -> impl Iterator<Item = (u32, &'a str)> {
        let written = move |step: &'a Step, process: u32| match &*step.what {
            What::Call { file: Some(file), failed: false, text, .. } if &**file == name => {
                step.what.call_facts().is_some_and(CallFacts::writes).then_some((process, &**text))
            }
            _ => None,
        };
        self.threads
            .iter()
            .flat_map(move |thread| thread.steps.iter().filter_map(move |step| written(step, thread.pid)))
    }

    /// The tracee's main thread.
    pub fn main(&self) -> &ThreadAccount {
        &self.threads[0]
    }
}

/// A time in which one thread did what all others waited for, counted from the entry of the first `execve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPiece {
    /// The place of the thread in [`Account::threads`].
    pub thread: usize,
    pub pid: u32,
    pub tid: u32,
    pub from: Nanos,
    pub to: Nanos,
}

/// Who created a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Creation {
    pub pid: u32,
    pub tid: u32,
}

/// The end of a sleep. Times are counted from the entry of the first `execve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When the thread left the processor.
    pub from: Nanos,
    /// When it was woken.
    pub woken: Nanos,
    /// The process and the thread that ran where it was woken.
    pub waker: [u32; 2],
}

impl Wake {
    /// With times counted from `zero`.
    pub(super) fn since(&self, zero: Nanos) -> Wake {
        let since = |at: Nanos| Nanos(at.0.saturating_sub(zero.0));
        Wake { from: since(self.from), woken: since(self.woken), waker: self.waker }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ThreadAccount {
    pub pid: u32,
    pub tid: u32,
    /// Counted from the entry of the first `execve`.
    pub start: Nanos,
    /// For the tracee's main thread this is the total.
    pub lifetime: Nanos,
    /// `None` for the tracee's main thread.
    pub creator: Option<Creation>,
    /// Its sleeps that a task of the tree may have ended, in order.
    pub wakes: Vec<Wake>,
    /// What the thread did, in order.
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessAccount {
    pub pid: u32,
    /// The parent's process id; 0 for the tracee.
    pub parent: u32,
    /// Counted from the entry of the first `execve`.
    pub start: Nanos,
    /// `None` if the recording does not show the end.
    pub end: Option<Nanos>,
    /// The wait status at the end.
    pub status: Option<i32>,
    /// Its parent waited for it and got its status, and with that its processor time.
    pub waited_for: bool,
    /// What the process executed, in order.
    pub execs: Vec<Execution>,
    /// How many threads it had, the main thread included.
    pub threads: u32,
}

/// A successful exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// When the call was entered, counted from the entry of the first `execve`.
    pub start: Nanos,
    /// How long the kernel took.
    pub took: Nanos,
    /// The file that the call names.
    pub path: Arc<str>,
    /// The file that the kernel executes: the interpreter, if the named file is a script.
    pub executed: Arc<str>,
    /// The arguments, as far as the recording has them.
    pub argv: Vec<String>,
}

/// What was done with one file, and how long it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAccount {
    /// The path as the program gave it.
    pub path: Arc<str>,
    /// Successful opens.
    pub opened: u64,
    /// Opens that failed.
    pub failed: u64,
    /// Other system calls about the file.
    pub calls: u64,
    /// Bytes that `read` and similar calls returned.
    pub bytes_read: u64,
    /// Page faults on the file's pages.
    pub faults: u64,
    /// Those of the faults that needed I/O.
    pub major_faults: u64,
    /// The own time of all these steps: without the faults and waits inside a call.
    pub time: Nanos,
}

/// Searches that went through the same folders with the same end: the same name was tried in one folder after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSearch {
    /// The names that were looked for, or `name.*` where several suffixes were tried.
    pub names: Vec<String>,
    /// The code that searched.
    pub by: String,
    /// Calls that failed.
    pub misses: u64,
    /// The folders that do not have the file, in the order in which they were tried.
    pub folders: Vec<String>,
    /// The folder that has it.
    pub found: Option<String>,
    /// The time of the failed calls, and of those that asked for the folders themselves.
    pub time: Nanos,
}
