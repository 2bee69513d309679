//! Measures what the programs cost for each event, with a child that does nothing but system calls and page faults,
//! traced and untraced.

use crate::clock;
use crate::tracer::{Event, EventCost, EventCosts, EventKind};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many events of each kind a round has.
const EVENTS: u64 = 400;
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
    in_child(|| {
        touch(1);
    });
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
        child > 0 && ended_well(child)
    }
}

/// Reaps the child, also if a signal interrupts the wait.
fn ended_well(child: i32) -> bool {
    let mut status = -1;
    loop {
        // SAFETY: the out-pointer is valid.
        let reaped = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if reaped == child || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return reaped == child && status == 0;
        }
    }
}

/// Nanoseconds for one round of each kind of work, all its events together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// The work between two events alone, as often as there are calls.
    work: u64,
    calls: u64,
    /// Calls with a path.
    path_calls: u64,
    faults: u64,
}

/// One untraced and one traced measurement, and how long the trivial events of the traced one were by their records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    pub(super) untraced: Rounds,
    pub(super) traced: Rounds,
    pub(super) recorded_call: f64,
    pub(super) recorded_fault: f64,
}

/// The median durations of the recorded calls and faults of [`fastest_rounds`], in nanoseconds. Most calls are trivial ones.
pub(super) fn recorded(events: &[Event]) -> [f64; 2] {
    let durations = |duration: fn(&Event) -> Option<u64>| {
        let mut all: Vec<u64> = events.iter().filter_map(duration).collect();
        all.sort_unstable();
        all.get(all.len() / 2).map_or(0.0, |ns| *ns as f64)
    };
    let call = |event: &Event| match &event.kind {
        EventKind::Call(call) if call.paths.is_empty() => Some(event.at.0.saturating_sub(call.entered.0)),
        _ => None,
    };
    let fault = |event: &Event| match &event.kind {
        EventKind::Fault(fault) => Some(event.at.0.saturating_sub(fault.entered.0)),
        _ => None,
    };
    [durations(call), durations(fault)]
}

/// The fastest round of each kind of work, in a forked child on that processor.
pub(super) fn fastest_rounds(processor: usize) -> Option<Rounds> {
    let length = rustix::param::page_size();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh page, shared with the child, and large enough for the rounds.
    let shared =
        unsafe { libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0) };

    if shared == libc::MAP_FAILED {
        return None;
    }
    let times = shared.cast::<Rounds>();
    let ended = in_child(|| {
        stay_on(processor);
        let rounds = Rounds {
            work: fastest(works),
            calls: fastest(calls),
            path_calls: fastest(path_calls),
            faults: fastest(faults),
        };
        // SAFETY: within the shared page, which nobody else uses while the child lives.
        unsafe { times.write_volatile(rounds) };
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

/// The costs of events, each the median over the pairs; `None` without pairs.
pub(super) fn costs(pairs: &[Pair]) -> Option<EventCosts> {
    let median = |figure: &dyn Fn(&Pair) -> f64| {
        let mut all: Vec<f64> = pairs.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    let more = |pair: &Pair, of: fn(&Rounds) -> u64| {
        of(&pair.traced).saturating_sub(of(&pair.untraced)) as f64 / EVENTS as f64
    };
    let alone = |pair: &Pair, of: fn(&Rounds) -> u64| {
        of(&pair.untraced).saturating_sub(pair.untraced.work) as f64 / EVENTS as f64
    };

    let syscall = median(&|pair| more(pair, |rounds| rounds.calls))?;
    let path_call = median(&|pair| more(pair, |rounds| rounds.path_calls))?;
    let fault = median(&|pair| more(pair, |rounds| rounds.faults))?;
    let in_call = median(&|pair| pair.recorded_call - alone(pair, |rounds| rounds.calls))?;
    let in_fault = median(&|pair| pair.recorded_fault - alone(pair, |rounds| rounds.faults))?;
    Some(EventCosts {
        syscall: divided(syscall, in_call),
        fault: divided(fault, in_fault),
        read: (path_call - syscall).max(0.0),
    })
}

/// An event costs at least so many nanoseconds. If it seems to cost less, the untraced rounds were disturbed.
const LEAST_COST: f64 = 10.0;

/// What an event costs in all, divided by where.
fn divided(total: f64, within: f64) -> EventCost {
    let total = total.max(LEAST_COST);
    let within = within.min(total);
    EventCost { around: total - within, within }
}

/// The time of the fastest of several rounds. Each returns its time.
fn fastest(round: fn() -> u64) -> u64 {
    (0..ROUNDS).map(|_| round()).min().unwrap_or(0)
}

fn timed(events: impl FnOnce()) -> u64 {
    let before = clock::now();
    events();
    clock::now().0.saturating_sub(before.0)
}

fn work() {
    for word in WORK.iter().step_by(CACHE_LINE / size_of::<AtomicU64>()) {
        // ORDERING: no other thread uses it; a plain load and store.
        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

fn works() -> u64 {
    timed(|| (0..EVENTS).for_each(|_| work()))
}

fn calls() -> u64 {
    timed(|| {
        for _ in 0..EVENTS {
            work();
            // SAFETY: no arguments, no effects; not cached by any C library.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
    })
}

/// The path is empty, so the kernel looks nothing up.
fn path_calls() -> u64 {
    timed(|| {
        for _ in 0..EVENTS {
            work();
            // SAFETY: a string that lives forever; no effects.
            unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, c"".as_ptr(), libc::F_OK) };
        }
    })
}

fn faults() -> u64 {
    touch(EVENTS)
}

/// Touches this many fresh pages. Each causes a page fault. Returns the time without that of mapping them.
fn touch(pages: u64) -> u64 {
    let page = rustix::param::page_size();
    let pages = usize::try_from(pages).unwrap_or(0);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, touched within its bounds, once a page, and unmapped.
    unsafe {
        let fresh = libc::mmap(ptr::null_mut(), pages * page, access, flags, -1, 0);
        if fresh == libc::MAP_FAILED {
            return 0;
        }
        let time = timed(|| {
            for n in 0..pages {
                work();
                fresh.cast::<u8>().add(n * page).write_volatile(1);
            }
        });
        libc::munmap(fresh, pages * page);
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_an_event_is_the_median_over_the_pairs() {
        let rounds = |call: u64, path: u64, fault: u64| {
            let [work, calls, path_calls, faults] =
                [10, 10 + call, 10 + path, 10 + fault].map(|ns| ns * EVENTS);
            Rounds { work, calls, path_calls, faults }
        };
        let pair = |call: u64, fault: u64| Pair {
            untraced: rounds(40, 60, 200),
            traced: rounds(40 + call, 60 + call + 15, 200 + fault),
            recorded_call: 30.0,
            recorded_fault: 205.0,
        };
        let median = costs(&[pair(90, 17), pair(30, 900), pair(50, 18)]).unwrap();
        let syscall = EventCost { around: 60.0, within: -10.0 };
        assert_eq!(
            median,
            EventCosts { syscall, fault: EventCost { around: 13.0, within: 5.0 }, read: 15.0 }
        );
        assert!((median.syscall.total() - 50.0).abs() < 1e-9);
        assert!((costs(&[pair(0, 0)]).unwrap().syscall.total() - LEAST_COST).abs() < 1e-9);
        assert!(costs(&[]).is_none());
    }
}
