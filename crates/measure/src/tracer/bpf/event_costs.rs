//! Measures what the programs cost for each event, with a child that does nothing but system calls and page faults,
//! traced and untraced.

use crate::clock;
use crate::tracer::EventCosts;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

const CALLS: u64 = 400;
const PAGES: u64 = 400;
/// How often each kind of work is repeated. The fastest round counts, because other programs only make a round
/// slower.
const ROUNDS: u64 = 5;
/// How many pairs of an untraced and a traced measurement there are. The median counts, because the machine's speed
/// varies from pair to pair.
pub(super) const PAIRS: usize = 5;

/// Memory that is read and written between two events, more than the first-level data cache can hold. The events of
/// a real program do not follow each other directly, and in an empty loop the programs cost half as much as in a
/// real one.
static WORK: [AtomicU64; 16 << 10] = [const { AtomicU64::new(0) }; 16 << 10];
const CACHE_LINE: usize = 64;

/// The processor that this thread runs on. All rounds use the same one, because two processors may differ in speed.
pub(super) fn processor() -> usize {
    rustix::thread::sched_getcpu()
}

/// Causes a page fault in a forked child.
pub(super) fn one_fault() {
    in_child(|| touch(1));
}

/// Does the work in a forked child. Returns whether it ended well.
fn in_child(work: impl FnOnce()) -> bool {
    // SAFETY: `work` makes only system calls, and touches only its own fresh mappings and memory that is shared with the
    // child. The child ends with `_exit`, and the parent reaps it.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            work();
            libc::_exit(0);
        }
        let mut status = -1;
        child > 0 && libc::waitpid(child, &raw mut status, 0) == child && status == 0
    }
}

/// The fastest round of each kind of work, in a forked child on that processor: nanoseconds for all its events.
pub(super) fn fastest_rounds(processor: usize) -> Option<[u64; 2]> {
    let length = rustix::param::page_size();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh page, shared with the child, and large enough for two numbers.
    let shared =
        unsafe { libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0) };

    if shared == libc::MAP_FAILED {
        return None;
    }
    let times = shared.cast::<[u64; 2]>();
    let ended = in_child(|| {
        stay_on(processor);
        // SAFETY: within the shared page, which nobody else uses while the child lives.
        unsafe { times.write_volatile([fastest(calls), fastest(faults)]) };
    });
    // SAFETY: the child is dead. The page is unmapped after its last use.
    unsafe {
        let result = times.read_volatile();
        libc::munmap(shared, length);
        ended.then_some(result)
    }
}

/// If this is refused, the measurement goes on without it.
fn stay_on(processor: usize) {
    let mut set = rustix::thread::CpuSet::new();
    if processor < rustix::thread::CpuSet::MAX_CPU {
        set.set(processor);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

/// The additional cost of one event when traced, from pairs of (untraced, traced); `None` without pairs.
pub(super) fn costs(pairs: &[([u64; 2], [u64; 2])]) -> Option<EventCosts> {
    let median = |kind: usize, count: u64| {
        let each = |(untraced, traced): &([u64; 2], [u64; 2])| {
            traced[kind].saturating_sub(untraced[kind]) as f64 / count as f64
        };
        let mut costs: Vec<f64> = pairs.iter().map(each).collect();
        costs.sort_by(f64::total_cmp);
        costs.get(costs.len() / 2).copied()
    };
    Some(EventCosts { syscall: median(0, CALLS)?, fault: median(1, PAGES)? })
}

fn fastest(work: fn()) -> u64 {
    let round = |_| {
        let before = clock::now();
        work();
        clock::now().0.saturating_sub(before.0)
    };
    (0..ROUNDS).map(round).min().unwrap_or(0)
}

fn work() {
    for word in WORK.iter().step_by(CACHE_LINE / size_of::<AtomicU64>()) {
        // ORDERING: no other thread uses it; a plain load and store.
        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

fn calls() {
    for _ in 0..CALLS {
        work();
        // SAFETY: no arguments, no effects; not cached by any C library.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

fn faults() {
    touch(PAGES);
}

/// Touches this many fresh pages. Each causes a page fault.
fn touch(pages: u64) {
    let page = rustix::param::page_size();
    let pages = usize::try_from(pages).unwrap_or(0);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, touched within its bounds, once a page, and unmapped.
    unsafe {
        let fresh = libc::mmap(ptr::null_mut(), pages * page, access, flags, -1, 0);
        if fresh == libc::MAP_FAILED {
            return;
        }
        for n in 0..pages {
            work();
            fresh.cast::<u8>().add(n * page).write_volatile(1);
        }
        libc::munmap(fresh, pages * page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_an_event_is_the_median_over_the_pairs() {
        let pair = |call: u64, fault: u64| ([1_000, 2_000], [1_000 + CALLS * call, 2_000 + PAGES * fault]);
        let median = costs(&[pair(90, 7), pair(30, 900), pair(50, 8)]).unwrap();
        assert_eq!(median, EventCosts { syscall: 50.0, fault: 8.0 });
        assert!(costs(&[]).is_none());
    }
}
