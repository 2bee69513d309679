//! What the programs cost an event: a child that does nothing but system calls and page faults, traced and not.

use crate::launch::clock;
use crate::tracer::full::EventCosts;
use std::ptr;

const CALLS: u64 = 2000;
const PAGES: u64 = 512;
const ROUNDS: u64 = 7;

/// The fastest round of each kind of work in a forked child, nanoseconds for all its events.
pub(super) fn fastest_rounds() -> Option<[u64; 2]> {
    let length = rustix::param::page_size();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh page, shared with the child, and large enough for two numbers.
    let shared =
        unsafe { libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0) };
    if shared == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the child makes system calls only, touches its own fresh mappings and the shared page, and ends by
    // `_exit`; the parent reaps it before it reads the page, and unmaps what it mapped.
    unsafe {
        let times = shared.cast::<[u64; 2]>();
        let child = libc::fork();
        if child == 0 {
            times.write_volatile([fastest(calls), fastest(faults)]);
            libc::_exit(0);
        }
        let mut status = -1;
        let reaped = child > 0 && libc::waitpid(child, &raw mut status, 0) == child;
        let result = times.read_volatile();
        libc::munmap(shared, length);
        (reaped && status == 0).then_some(result)
    }
}

/// What one event costs more when traced.
pub(super) fn costs(untraced: [u64; 2], traced: [u64; 2]) -> EventCosts {
    let each = |n: usize, count: u64| traced[n].saturating_sub(untraced[n]) as f64 / count as f64;
    EventCosts { syscall: each(0, CALLS), fault: each(1, PAGES) }
}

fn fastest(work: fn()) -> u64 {
    let round = |_| {
        let before = clock::now();
        work();
        clock::now().0.saturating_sub(before.0)
    };
    (0..ROUNDS).map(round).min().unwrap_or(0)
}

fn calls() {
    for _ in 0..CALLS {
        // SAFETY: no arguments, no effects; not cached by any C library.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

fn faults() {
    let page = rustix::param::page_size();
    let pages = usize::try_from(PAGES).unwrap_or(0);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, touched within its bounds, once a page, and unmapped.
    unsafe {
        let fresh = libc::mmap(ptr::null_mut(), pages * page, access, flags, -1, 0);
        if fresh == libc::MAP_FAILED {
            return;
        }
        for n in 0..pages {
            fresh.cast::<u8>().add(n * page).write_volatile(1);
        }
        libc::munmap(fresh, pages * page);
    }
}
