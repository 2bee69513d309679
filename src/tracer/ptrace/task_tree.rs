//! The threads and processes of the tracee's tree that live, as far as their stops have told.

use super::tracee::Tracee;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Every thread that has been seen and is not yet gone.
#[derive(Debug, Default)]
pub(super) struct TaskTree {
    threads: HashMap<i32, Thread>,
    /// How many threads of a process have not yet begun to exit.
    living: HashMap<i32, usize>,
    /// New threads that stopped before their parent told of them.
    early: Vec<Tracee>,
}

#[derive(Debug)]
struct Thread {
    process: i32,
    exiting: bool,
}

impl TaskTree {
    /// A thread that has been created in `process`.
    pub(super) fn add(&mut self, thread: i32, process: i32) {
        self.threads.insert(thread, Thread { process, exiting: false });
        *self.living.entry(process).or_default() += 1;
    }

    /// The process of a thread that we know.
    pub(super) fn process_of(&self, thread: i32) -> Option<i32> {
        self.threads.get(&thread).map(|known| known.process)
    }

    /// A thread whose parent has not told of it yet must wait: its events would precede its creation.
    pub(super) fn hold(&mut self, tracee: Tracee) {
        self.early.push(tracee);
    }

    /// Whether `thread` waits for its parent to tell of it; no longer, from now on.
    pub(super) fn release(&mut self, thread: i32) -> Option<Tracee> {
        let place = self.early.iter().position(|held| held.0 == thread)?;
        Some(self.early.swap_remove(place))
    }

    /// All that wait: their parent has died before it could tell.
    pub(super) fn release_all(&mut self) -> Vec<Tracee> {
        std::mem::take(&mut self.early)
    }

    /// A thread has begun to exit. Returns whether it is the last of its process.
    pub(super) fn exiting(&mut self, thread: i32) -> bool {
        let Some(known) = self.threads.get_mut(&thread) else { return false };
        if std::mem::replace(&mut known.exiting, true) {
            return false;
        }
        let living = self.living.entry(known.process).or_default();
        *living = living.saturating_sub(1);
        *living == 0
    }

    /// Whether a thread has begun to exit.
    pub(super) fn is_exiting(&self, thread: i32) -> bool {
        self.threads.get(&thread).is_none_or(|known| known.exiting)
    }

    /// A thread has been reaped.
    pub(super) fn gone(&mut self, thread: i32) {
        self.exiting(thread);
        self.release(thread);
        if let Some(known) = self.threads.remove(&thread)
            && self.living.get(&known.process) == Some(&0)
        {
            self.living.remove(&known.process);
        }
    }

    /// `former` has executed a program: it alone is left of its process, and its thread id is the process id now.
    pub(super) fn executed(&mut self, process: i32, former: i32) {
        self.threads.remove(&former);
        self.threads.insert(process, Thread { process, exiting: false });
        self.living.insert(process, 1);
    }

    /// The processes of which a thread lives that has not begun to exit.
    pub(super) fn living_processes(&self) -> Vec<Tracee> {
        self.living.iter().filter(|(_, count)| **count > 0).map(|(process, _)| Tracee(*process)).collect()
    }
}

/// Whether `thread` is one of `process`.
pub(super) fn is_thread_of(thread: i32, process: i32) -> bool {
    Path::new(&format!("/proc/{process}/task/{thread}")).exists()
}

/// The process of a thread, asked of the kernel.
pub(super) fn ask_process_of(thread: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|id| id.trim().parse().ok()).unwrap_or(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thread_that_begins_to_exit_ends_its_process() {
        let mut tree = TaskTree::default();
        tree.add(10, 10);
        tree.add(11, 10);
        assert!(!tree.exiting(10));
        assert!(!tree.exiting(10), "twice is not two threads");
        assert!(tree.exiting(11));
        tree.gone(10);
        tree.gone(11);
        assert!(tree.threads.is_empty());
    }

    #[test]
    fn an_exec_leaves_one_thread_under_the_process_id() {
        let mut tree = TaskTree::default();
        for thread in [10, 11, 12] {
            tree.add(thread, 10);
        }
        tree.exiting(10); // the leader, to make room
        tree.exiting(12);
        tree.gone(12);
        tree.executed(10, 11);
        assert_eq!(tree.process_of(11), None);
        assert!(tree.exiting(10));
        tree.gone(10);
        assert!(tree.threads.is_empty());
    }

    #[test]
    fn a_thread_that_is_held_is_released_once() {
        let mut tree = TaskTree::default();
        tree.hold(Tracee(7));
        assert_eq!(tree.release(7), Some(Tracee(7)));
        assert_eq!(tree.release(7), None);
        assert_eq!(tree.release_all(), []);
    }
}
