//! The threads and processes of the tracee's tree that live, as far as their stops have told.

use super::tracee::{Tracee, pidfd};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;

/// Every thread that has been seen and is not yet gone.
#[derive(Debug, Default)]
pub(super) struct TaskTree {
    threads: HashMap<i32, Thread>,
    /// How many threads of a process have not yet begun to exit.
    living: HashMap<i32, usize>,
    /// New threads that stopped before their creator told of them.
    early: Vec<Tracee>,
    /// Those that were let go untold because their creator seemed to be dead: it may tell of them all the same.
    adopted: HashSet<i32>,
    /// Those that died before their creator told of them, and their wait statuses.
    died_untold: HashMap<i32, i32>,
}

/// What is new about a thread of which its creator tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// All of it.
    New,
    /// Nothing: it has been counted, and goes on.
    Known,
    /// That there was one: it is dead already, with this wait status.
    Dead(i32),
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

    /// Those that wait and that `is_orphan` says so of: nobody may ever tell of them.
    pub(super) fn adopt(&mut self, is_orphan: impl Fn(&TaskTree, i32) -> bool) -> Vec<Tracee> {
        let early = std::mem::take(&mut self.early);
        let (orphans, others): (Vec<Tracee>, _) = early.into_iter().partition(|held| is_orphan(self, held.0));
        self.early = others;
        self.adopted.extend(orphans.iter().map(|orphan| orphan.0));
        orphans
    }

    /// All that wait for their parents to tell of them; no longer, from now on.
    pub(super) fn held(&mut self) -> Vec<Tracee> {
        std::mem::take(&mut self.early)
    }

    /// Every thread that has been seen and is not yet gone.
    pub(super) fn everyone(&self) -> Vec<Tracee> {
        self.threads.keys().map(|thread| Tracee(*thread)).chain(self.early.iter().copied()).collect()
    }

    /// A thread died of which nobody has told.
    pub(super) fn died_untold(&mut self, thread: i32, status: i32) {
        self.release(thread);
        self.died_untold.insert(thread, status);
    }

    /// What is new about a thread of which its creator tells now.
    pub(super) fn told(&mut self, thread: i32) -> Told {
        if self.adopted.remove(&thread) {
            Told::Known
        } else if let Some(status) = self.died_untold.remove(&thread) {
            Told::Dead(status)
        } else {
            Told::New
        }
    }

    /// Whether any thread of a process is left.
    pub(super) fn has_process(&self, process: i32) -> bool {
        self.living.contains_key(&process)
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

/// Whether a new `thread` is a further one of its creator's process: only the first of a process has a
/// descriptor (`pidfd_open(2)`). Not asked of `/proc`, which may be that of other processes.
pub(super) fn is_further_thread(thread: i32) -> bool {
    let nobody = |error: io::Error| error.raw_os_error() == Some(libc::ESRCH);
    pidfd(thread).is_err_and(|error| !nobody(error))
}

/// The process of a thread and that process' parent, asked of the kernel (proc(5)).
pub(super) fn ask_family_of(thread: i32) -> Option<(i32, i32)> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some((field("Tgid:")?, field("PPid:")?))
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
        assert_eq!(tree.adopt(|_, _| true), []);
    }

    #[test]
    fn everyone_is_who_is_known_and_who_is_held() {
        let mut tree = TaskTree::default();
        tree.add(10, 10);
        tree.hold(Tracee(11));
        assert_eq!(tree.everyone(), [Tracee(10), Tracee(11)]);
        assert_eq!((tree.held(), tree.held()), (vec![Tracee(11)], vec![]), "they are let go once");
        assert_eq!(tree.everyone(), [Tracee(10)]);
    }

    #[test]
    fn who_was_adopted_is_known_when_its_creator_tells_of_it_after_all() {
        let mut tree = TaskTree::default();
        tree.hold(Tracee(7));
        tree.hold(Tracee(8));
        assert_eq!(tree.adopt(|_, held| held == 7), [Tracee(7)]);
        assert_eq!(tree.release(8), Some(Tracee(8)), "the other one waits on");
        assert_eq!([tree.told(7), tree.told(7), tree.told(8)], [Told::Known, Told::New, Told::New]);
        tree.died_untold(9, 256);
        assert_eq!([tree.told(9), tree.told(9)], [Told::Dead(256), Told::New]);
    }
}
