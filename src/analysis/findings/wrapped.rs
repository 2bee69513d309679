//! Which process is the program itself, where a wrapper starts it as a child and waits for it.

use crate::analysis::{Account, ProcessAccount, Reason, What};
use firstbyte_measure::arch::Wait;
use std::collections::{BTreeSet, HashMap};

/// After the program's end, a wrapper works for at most this part of the total.
const AFTERWARDS: u64 = 10;

/// The tracee and the processes that lead to the program itself, which comes last: a child that executes another program,
/// works for at least half of the path, and writes all output. Where nobody writes anything, its parent waits for its exit, nearly
/// to the end.
pub(super) fn chain(account: &Account) -> Vec<&ProcessAccount> {
    let worked = worked(account);
    let root = account.processes.iter().position(|process| process.pid == account.root);
    let inner = |outer: &usize| main_child(account, &worked, *outer);
    let places = std::iter::successors(root, inner);
    let mut chain: Vec<&ProcessAccount> = places.map(|place| &account.processes[place]).collect();
    while chain.len() > 1 && chain.last().is_some_and(|process| process.execs.is_empty()) {
        chain.pop();
    }
    chain
}

/// How long each process had the path, with all that descend from it.
fn worked(account: &Account) -> HashMap<u32, u64> {
    let mut worked: HashMap<u32, u64> = HashMap::new();
    for piece in &account.path {
        *worked.entry(piece.pid).or_default() += piece.to.0.saturating_sub(piece.from.0);
    }
    for process in account.processes.iter().rev().filter(|process| process.pid != process.parent) {
        let own = worked.get(&process.pid).copied().unwrap_or_default();
        *worked.entry(process.parent).or_default() += own;
    }
    worked
}

/// The place of the child; it began later than its parent.
fn main_child(account: &Account, worked: &HashMap<u32, u64>, place: usize) -> Option<usize> {
    let outer = &account.processes[place];
    let is_main = |child: &ProcessAccount| {
        let half = worked.get(&child.pid).is_some_and(|time| time.saturating_mul(2) >= account.total.0);
        half && child.parent == outer.pid && writes_all(account, outer, child)
    };
    let mut later = account.processes.iter().enumerate().skip(place + 1);
    later.find(|(_, child)| is_main(child)).map(|(place, _)| place)
}

fn writes_all(account: &Account, outer: &ProcessAccount, child: &ProcessAccount) -> bool {
    let printing = account.printing_processes();
    if printing.is_empty() {
        ends_last(account, child) && is_waited_for(account, outer, child)
    } else {
        printing.is_subset(&tree(account, child.pid))
    }
}

fn ends_last(account: &Account, child: &ProcessAccount) -> bool {
    let rest = child.end.map(|end| account.total.0.saturating_sub(end.0));
    rest.is_some_and(|rest| rest.saturating_mul(AFTERWARDS) <= account.total.0)
        && account.processes.iter().all(|other| child.end.is_none_or(|end| other.start <= end))
}

/// Whether a process waits for the exits of its children for most of a child's lifetime. One that wants the child's output reads
/// meanwhile.
fn is_waited_for(account: &Account, outer: &ProcessAccount, child: &ProcessAccount) -> bool {
    let end = child.end.unwrap_or(account.total);
    let steps =
        account.threads.iter().filter(|thread| thread.pid == outer.pid).flat_map(|thread| &thread.steps);
    let waited: u64 = steps
        .filter(|step| matches!(&*step.what, What::Call { name, .. } if Reason::of_call(name) == Reason::For(Wait::Child)))
        .map(|step| (step.start + step.elapsed).min(end).0.saturating_sub(step.start.max(child.start).0))
        .sum();
    waited.saturating_mul(2) >= end.0.saturating_sub(child.start.0)
}

/// A process and all that descend from it.
fn tree(account: &Account, first: u32) -> BTreeSet<u32> {
    let mut tree = BTreeSet::from([first]);
    for process in &account.processes {
        if tree.contains(&process.parent) {
            tree.insert(process.pid);
        }
    }
    tree
}
