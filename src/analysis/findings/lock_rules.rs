//! A finding about locks for which the program waits while another of its threads or processes has them.

use super::extent::Extent;
use super::floors::floor;
use super::process_rules::times;
use super::{Finding, noteworthy};
use crate::analysis::step_times::StepTimes;
use crate::analysis::{Account, PathPiece, Step, What};
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;

/// A lock, by words, and who released it.
type Held = (String, String);

/// The lock for which the path waits the longest, by the calls of the thread that waited and of the one that woke it.
pub(super) fn locks(account: &Account) -> Option<Finding> {
    let mut waits: BTreeMap<Held, Vec<[Nanos; 2]>> = BTreeMap::new();
    for (held, wait) in held_locks(account) {
        waits.entry(held).or_default().push(wait);
    }
    let extent = |waits: &[[Nanos; 2]]| {
        let parts = waits.iter().map(|wait| Extent::during(account, *wait));
        parts.fold(Extent::default(), |all, part| all.and(&part))
    };
    let all = waits.into_iter().map(|(held, waits)| (extent(&waits), held, waits.len()));
    let (extent, (lock, holder), count) = all.max_by_key(|(extent, ..)| extent.total())?;
    let cost = extent.total();
    let text = format!(
        "The program waits {} for {lock}, which {holder} holds until then. Hold it for a shorter time, or take it later.",
        times(count)
    );
    noteworthy(cost, account, floor("locks"))
        .then(|| Finding::new("locks", cost, text).about(&lock).on(extent))
}

/// Each wait for a lock that the path spends with its holder: the lock, its holder, and from when until when.
fn held_locks(account: &Account) -> Vec<(Held, [Nanos; 2])> {
    let (times, executions) = (StepTimes::of(&account.threads), account.executions());
    let of_pieces = |pair: &[PathPiece]| {
        let (holder, waiter) = (pair[0], pair[1]);
        let thread = account.threads.get(waiter.thread)?;
        let index = thread.wakes.binary_search_by_key(&waiter.from, |wake| wake.woken).ok()?;
        let wake = thread.wakes.get(index).filter(|wake| wake.waker == [holder.pid, holder.tid])?;
        let waiting = call_at(&times, waiter.thread, wake.from)?;
        let releasing = call_at(&times, holder.thread, wake.woken);
        let lock = lock(waiting, releasing)?;
        let own = holder.pid == waiter.pid;
        let who = match (executions.thread_order(&holder), own) {
            (0, true) => "its first thread".to_owned(),
            (order, true) => format!("its thread {order}"),
            (_, false) => {
                format!("`{}` (process {})", executions.program(holder.pid, holder.from), holder.pid)
            }
        };
        Some(((lock, who), [wake.from, wake.woken]))
    };
    account.path.windows(2).filter_map(of_pieces).collect()
}

/// The system call in which a thread is at an instant.
fn call_at<'t>(times: &StepTimes<'t>, thread: usize, at: Nanos) -> Option<&'t Step> {
    times.at(thread, at).find(|step| matches!(*step.what, What::Call { .. }))
}

/// What one thread waits for in a call, and another one releases in its own, in words; `None`: it may be something else than a
/// lock.
fn lock(waiting: &Step, releasing: Option<&Step>) -> Option<String> {
    let What::Call { name, text, file, failed: false, .. } = &*waiting.what else { return None };
    match &**name {
        // The thread that ends this wait held the lock. It unlocked or closed the file, or it exited.
        "flock" | "fcntl" | "fcntl64" => file.as_ref().map(|file| format!("the lock of `{file}`")),
        // 2 is a lock that somebody has and others wait for, in glibc, Go and Rust
        "futex" if text.contains("FUTEX_WAIT") && text.split(", ").nth(2) == Some("2") => {
            let address = |text: &str| text.split(['(', ',']).nth(1).map(str::to_owned);
            let What::Call { name, text: wake, .. } = &*releasing?.what else { return None };
            let is_same = &**name == "futex" && wake.contains("FUTEX_WAKE") && address(wake) == address(text);
            is_same.then(|| "a lock in memory".to_owned())
        }
        _ => None,
    }
}
