//! The living threads and processes of the tracee's tree, as far as their stops have shown them.
//!
//! When a thread creates another one, two stops follow in any order: the creator's, which announces the new thread,
//! and the new thread's own.

use super::tracee::TracedThread;
use crate::launch::ready::pidfd;
use std::collections::{HashMap, HashSet};
use std::fs;

/// One thread of one process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) process: i32,
    pub(crate) thread: i32,
}

/// Every thread that has been seen and is not yet gone.
#[derive(Debug, Default)]
pub(super) struct TaskTree {
    threads: HashMap<i32, Thread>,
    /// How many threads of a process have not yet begun to exit.
    living: HashMap<i32, usize>,
    /// New threads whose first stop was reported before their creator's clone event. They are held.
    early: Vec<TracedThread>,
    /// Threads that were released without announcement because their creator seemed dead. It may still announce
    /// them.
    adopted: HashSet<i32>,
    /// Threads that died before their creator announced them, and their wait statuses.
    died_unannounced: HashMap<i32, i32>,
}

/// What a creator's announcement of a thread means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announced {
    /// The thread is new.
    New,
    /// The thread is known and counted already.
    Known,
    /// The thread is dead already, with this wait status.
    Dead(i32),
}

#[derive(Debug)]
struct Thread {
    process: i32,
    exiting: bool,
}

impl TaskTree {
    /// A thread has been created in `process`.
    pub(super) fn add(&mut self, thread: i32, process: i32) {
        self.threads.insert(thread, Thread { process, exiting: false });
        *self.living.entry(process).or_default() += 1;
    }

    /// How many threads there are.
    pub(super) fn size(&self) -> usize {
        self.threads.len() + self.early.len()
    }

    /// The process of a known thread.
    pub(super) fn process_of(&self, thread: i32) -> Option<i32> {
        self.threads.get(&thread).map(|known| known.process)
    }

    /// Holds a thread that its creator has not announced yet. Otherwise its events would precede its creation.
    pub(super) fn hold(&mut self, tracee: TracedThread) {
        self.early.push(tracee);
    }

    /// Stops holding `thread`; `None` if it was not held.
    pub(super) fn release(&mut self, thread: i32) -> Option<TracedThread> {
        let index = self.early.iter().position(|held| held.0 == thread)?;
        Some(self.early.swap_remove(index))
    }

    /// Stops holding the threads for which `is_orphan` is true, because nobody may ever announce them.
    pub(super) fn adopt(&mut self, is_orphan: impl Fn(&TaskTree, i32) -> bool) -> Vec<TracedThread> {
        let early = std::mem::take(&mut self.early);
        let (orphans, others): (Vec<TracedThread>, _) =
            early.into_iter().partition(|held| is_orphan(self, held.0));
        self.early = others;
        self.adopted.extend(orphans.iter().map(|orphan| orphan.0));
        orphans
    }

    /// Stops holding all threads, and returns them.
    pub(super) fn held(&mut self) -> Vec<TracedThread> {
        std::mem::take(&mut self.early)
    }

    /// Every thread that has been seen and is not yet gone.
    pub(super) fn everyone(&self) -> Vec<TracedThread> {
        self.threads.keys().map(|thread| TracedThread(*thread)).chain(self.early.iter().copied()).collect()
    }

    /// A thread died that nobody has announced.
    pub(super) fn died_unannounced(&mut self, thread: i32, status: i32) {
        self.release(thread);
        self.died_unannounced.insert(thread, status);
    }

    /// The creator announces a thread.
    pub(super) fn announced(&mut self, thread: i32) -> Announced {
        if self.adopted.remove(&thread) {
            Announced::Known
        } else if let Some(status) = self.died_unannounced.remove(&thread) {
            Announced::Dead(status)
        } else {
            Announced::New
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

    /// `former` has executed a program. All other threads of its process are gone, and its thread id is now the
    /// process id.
    pub(super) fn executed(&mut self, process: i32, former: i32) {
        self.threads.remove(&former);
        self.threads.insert(process, Thread { process, exiting: false });
        self.living.insert(process, 1);
    }

    /// The processes with at least one thread that has not begun to exit.
    pub(super) fn living_processes(&self) -> Vec<TracedThread> {
        self.living
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(process, _)| TracedThread(*process))
            .collect()
    }
}

/// Whether a new `thread` belongs to its creator's process. Only the first thread of a process has a descriptor
/// (`pidfd_open(2)`). `/proc` is not asked, because it may show other processes.
pub(super) fn is_further_thread(thread: i32) -> bool {
    let refused = pidfd(thread).err().and_then(|error| error.raw_os_error());
    match refused {
        None | Some(libc::ESRCH) => false,
        // ENOENT since Linux 6.15
        Some(libc::EINVAL | libc::ENOENT) => true,
        // The call is forbidden, or there are no descriptors.
        Some(_) => !leads_process(thread),
    }
}

/// Whether a process has the id of this thread (`tgkill(2)`).
fn leads_process(thread: i32) -> bool {
    // SAFETY: asks, without sending anything.
    unsafe { libc::syscall(libc::SYS_tgkill, thread, thread, 0) == 0 }
}

/// The process of a thread and that process's parent (proc(5)).
pub(super) fn ask_family_of(thread: i32) -> Option<(i32, i32)> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some((field("Tgid:")?, field("PPid:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_thread_leads_its_process() {
        // SAFETY: gettid has no arguments and no effects.
        let further = || unsafe { libc::gettid() };
        assert!(leads_process(std::process::id().cast_signed()));
        assert!(!std::thread::spawn(move || leads_process(further())).join().unwrap());
    }

    #[test]
    fn the_last_thread_that_begins_to_exit_ends_its_process() {
        let mut tree = TaskTree::default();
        tree.add(10, 10);
        tree.add(11, 10);
        assert!(!tree.exiting(10));
        assert!(!tree.exiting(10), "one thread counts once");
        assert!(tree.exiting(11));
        tree.gone(10);
        tree.gone(11);
        assert!(tree.threads.is_empty());
    }

    #[test]
    fn a_process_is_there_until_its_last_thread_is_reaped() {
        let mut tree = TaskTree::default();
        tree.add(10, 10);
        tree.add(11, 10);
        tree.gone(11);
        assert!(tree.has_process(10) && !tree.has_process(11));
        tree.exiting(10);
        assert!(tree.has_process(10), "it has not been reaped");
        tree.gone(10);
        assert!(!tree.has_process(10));
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
        tree.hold(TracedThread(7));
        assert_eq!(tree.release(7), Some(TracedThread(7)));
        assert_eq!(tree.release(7), None);
        assert_eq!(tree.adopt(|_, _| true), []);
    }

    #[test]
    fn everyone_includes_known_and_held_threads() {
        let mut tree = TaskTree::default();
        tree.add(10, 10);
        tree.hold(TracedThread(11));
        assert_eq!(tree.everyone(), [TracedThread(10), TracedThread(11)]);
        assert_eq!((tree.held(), tree.held()), (vec![TracedThread(11)], vec![]), "they are released once");
        assert_eq!(tree.everyone(), [TracedThread(10)]);
    }

    #[test]
    fn an_adopted_thread_is_known_when_its_creator_announces_it_later() {
        let mut tree = TaskTree::default();
        tree.hold(TracedThread(7));
        tree.hold(TracedThread(8));
        assert_eq!(tree.adopt(|_, held| held == 7), [TracedThread(7)]);
        assert_eq!(tree.release(8), Some(TracedThread(8)), "the other one is still held");
        assert_eq!(
            [tree.announced(7), tree.announced(7), tree.announced(8)],
            [Announced::Known, Announced::New, Announced::New]
        );
        tree.died_unannounced(9, 256);
        assert_eq!([tree.announced(9), tree.announced(9)], [Announced::Dead(256), Announced::New]);
    }
}
