//! Who ended a wait, where the backend sees no wake-ups (ptrace): as far as the calls themselves tell.
//!
//! A futex is one address. The calls that wake return how many threads they woke, and the kernel wakes those first that have
//! waited longest. `pthread_join(3)` waits at an address that holds the id of a thread, which its end clears. A wait for a
//! child ends with the child's end.

use super::model::{ProcessAccount, ThreadAccount, Wake};
use super::step::{Reason, What};
use firstbyte_measure::arch::{CallFacts, Wait, call_names};
use firstbyte_measure::tracer::event::Call;
use firstbyte_measure::tracer::{Event, EventKind};
use firstbyte_measure::units::Nanos;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The ends of waits, by the thread that waited and by when its call returned.
pub(super) type InferredWakes = HashMap<(u32, Nanos), Wake>;

/// Operations of `futex(2)`, without the flags beside them.
const OPERATION: u64 = 0x7f;
const WAITS: [u64; 2] = [0, 9];
const WAKES: [u64; 5] = [1, 3, 4, 5, 10];

/// A call for a futex.
#[derive(Clone, Copy, Debug)]
struct Futex {
    pid: u32,
    tid: u32,
    entered: Nanos,
    left: Nanos,
    address: u64,
    value: u64,
    operation: u64,
    /// How many threads it woke.
    woken: u64,
}

/// The waits of one recording, in which events are in order of time.
pub(super) fn of_futexes(events: &[Event]) -> InferredWakes {
    let (mut waits, mut wakers): (Vec<Futex>, Vec<Futex>) = events
        .iter()
        .filter_map(futex)
        .filter(|call| WAITS.contains(&call.operation) || WAKES.contains(&call.operation))
        .partition(|call| WAITS.contains(&call.operation));
    waits.sort_by_key(|wait| wait.entered);
    wakers.sort_by_key(|call| call.entered);

    let mut queues: HashMap<(u32, u64), Queue> = HashMap::new();
    for wait in &waits {
        queues.entry((wait.pid, wait.address)).or_default().coming.push_back(*wait);
    }
    let mut found = InferredWakes::new();
    for waker in wakers {
        let Some(queue) = queues.get_mut(&(waker.pid, waker.address)) else { continue };
        for wait in queue.woken_by(&waker) {
            let at = waker.entered.max(wait.entered);
            found.insert((wait.tid, wait.left), wake(&wait, at, [waker.pid, waker.tid]));
        }
    }

    let ends = thread_ends(events);
    for wait in waits {
        if let Some(ended) = joined_end(&ends, &wait) {
            found.entry((wait.tid, wait.left)).or_insert_with(|| {
                let joined = u32::try_from(wait.value).unwrap_or(0);
                wake(&wait, ended, [wait.pid, joined])
            });
        }
    }
    found
}

/// The waits for one futex, in the order in which they began.
#[derive(Default)]
struct Queue {
    coming: VecDeque<Futex>,
    waiting: VecDeque<Futex>,
}

impl Queue {
    /// The waits that a call ends. Calls come in the order in which they begin.
    fn woken_by(&mut self, waker: &Futex) -> Vec<Futex> {
        let begun = self.coming.partition_point(|wait| wait.entered < waker.left);
        self.waiting.extend(self.coming.drain(..begun));
        let (mut woken, mut at) = (Vec::new(), 0);
        while let Some(wait) = self.waiting.get(at)
            && woken.len() as u64 != waker.woken
            && wait.entered < waker.left
        {
            let (is_over, is_other) = (wait.left <= waker.entered, wait.tid != waker.tid);
            if is_over || is_other {
                woken.extend(self.waiting.remove(at).filter(|_| !is_over));
            } else {
                at += 1;
            }
        }
        woken
    }
}

fn wake(wait: &Futex, woken: Nanos, waker: [u32; 2]) -> Wake {
    Wake { from: wait.entered, woken, waker }
}

/// Whether another thread ended a wait for a futex.
pub(super) fn was_woken(call: &Call) -> bool {
    let waits = WAITS.contains(&(call.arguments[1] & OPERATION));
    waits
        && call.value().is_some()
        && CallFacts::of(&call_names::name(call.call)).and_then(CallFacts::waits_for) == Some(Wait::Futex)
}

/// A call for a futex that did not fail.
fn futex(event: &Event) -> Option<Futex> {
    let EventKind::Call(call) = &event.kind else { return None };
    let name = call_names::name(call.call);
    let Call { arguments: [address, operation, value, ..], entered, .. } = **call;
    let woken = call.value().filter(|_| name == "futex" || name == "futex_time64")?;
    let (Event { pid, tid, at: left, .. }, operation) = (event, operation & OPERATION);
    let value = value & 0xffff_ffff;
    Some(Futex { pid: *pid, tid: *tid, entered, left: *left, address, value, operation, woken })
}

/// When the threads ended that had an id, in order.
type ThreadEnds = HashMap<(u32, u32), Vec<Nanos>>;

fn thread_ends(events: &[Event]) -> ThreadEnds {
    let mut ends = ThreadEnds::new();
    for event in events.iter().filter(|event| matches!(event.kind, EventKind::Exit { .. })) {
        ends.entry((event.pid, event.tid)).or_default().push(event.at);
    }
    ends
}

/// When the thread ended for which a thread of the same process waits.
fn joined_end(ends: &ThreadEnds, wait: &Futex) -> Option<Nanos> {
    let joined = u32::try_from(wait.value).ok().filter(|joined| *joined != wait.tid)?;
    let ends = ends.get(&(wait.pid, joined))?;
    let first = ends.partition_point(|end| *end < wait.entered);
    ends.get(first).copied().filter(|end| *end < wait.left)
}

/// The waits that the end of a child has ended by its signal: those for a signal, and others that it interrupted. The thread's next
/// event is the SIGCHLD.
pub(super) fn of_signals(events: &[Event]) -> InferredWakes {
    let parents: HashMap<u32, u32> = events.iter().filter_map(created).collect();
    let wake = |(index, event): (usize, &Event)| {
        let EventKind::Call(call) = &event.kind else { return None };
        let waits = CallFacts::of(&call_names::name(call.call)).and_then(CallFacts::waits_for);
        waits.filter(|wait| *wait == Wait::Signal || call.was_interrupted())?;
        let next = events[index + 1..].iter().find(|other| other.tid == event.tid)?;
        if next.kind != (EventKind::Signalled { signal: libc::SIGCHLD }) {
            return None;
        }
        let from = events.partition_point(|other| other.at < call.entered);
        let mut meanwhile = events.get(from..index)?.iter();
        let child = meanwhile.find(|other| {
            let is_last = matches!(other.kind, EventKind::Exit { group_dead: true, .. });
            is_last && parents.get(&other.pid) == Some(&event.pid)
        })?;
        let waker = [child.pid, child.tid];
        Some(((event.tid, event.at), Wake { from: call.entered, woken: child.at, waker }))
    };
    events.iter().enumerate().filter_map(wake).collect()
}

/// A process that was created, and the one that created it.
fn created(event: &Event) -> Option<(u32, u32)> {
    match event.kind {
        EventKind::Fork { child_pid, .. } if child_pid != event.pid => Some((child_pid, event.pid)),
        _ => None,
    }
}

/// The child for whose end a call has waited. `ended`: the children of its process that have ended and were not waited for.
pub(super) fn child_of(name: &str, call: &Call, ended: impl IntoIterator<Item = u32>) -> Option<u32> {
    const P_PID: u64 = 1;
    let result = call.value()?;
    if name != "waitid" {
        return u32::try_from(result).ok().filter(|child| *child > 0);
    }
    if call.arguments[0] == P_PID {
        return u32::try_from(call.arguments[1]).ok();
    }
    let mut ended = ended.into_iter();
    ended.next().filter(|_| ended.next().is_none())
}

/// A shell that waits for a signal waits for its child, if the child's end is what ends the wait. The call does not tell which
/// child it was, so its text gets the name.
pub(super) fn name_waits_for_children(thread: &mut ThreadAccount, processes: &[ProcessAccount]) {
    let pid = thread.pid;
    let ended = |wake: &Wake| {
        let is_child = |process: &&ProcessAccount| (process.pid, process.parent) == (wake.waker[0], pid);
        let child = processes.iter().rev().find(is_child)?;
        child.end.filter(|end| *end <= wake.woken).map(|_| child)
    };

    let mut call = None;
    for n in 0..thread.steps.len() {
        let step = &thread.steps[n];
        let until = step.start + step.elapsed;
        if matches!(*step.what, What::Call { .. }) {
            call = Some(n);
        }
        if *step.what != What::Off(Reason::For(Wait::Signal)) {
            continue;
        }
        let is_end = |wake: &&Wake| step.start <= wake.woken && wake.woken <= until;
        let Some(child) = thread.wakes.iter().filter(is_end).find_map(ended) else { continue };

        thread.steps[n].what = What::Off(Reason::For(Wait::Child)).into();
        if let Some(What::Call { text, .. }) = call.map(|call| Arc::make_mut(&mut thread.steps[call].what)) {
            text.push_str(&ended_child(child));
        }
    }
}

/// `, child 7, sleep`.
fn ended_child(child: &ProcessAccount) -> String {
    let name = child.execs.last().map(|exec| exec.path.rsplit('/').next().unwrap_or_default());
    let name = name.map_or_else(String::new, |name| format!(", {name}"));
    format!(", child {}{name}", child.pid)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use firstbyte_measure::arch::{Abi, Syscall, native_number};

    pub(in crate::analysis) fn call(
        tid: u32,
        name: &str,
        from: u64,
        to: u64,
        arguments: [u64; 3],
        result: i64,
    ) -> Event {
        let [a, b, c] = arguments;
        let call = Call {
            call: Syscall { abi: Abi::Native, number: native_number(name).unwrap() },
            entered: Nanos(from),
            result: Some(result),
            arguments: [a, b, c, 0, 0, 0],
            ..Call::default()
        };
        Event { at: Nanos(to), pid: 1, tid, kind: EventKind::Call(Box::new(call)) }
    }

    const WAIT: u64 = 128;
    const WAKE: u64 = 129;

    fn shown(events: &mut [Event]) -> Vec<(u32, u64, u32)> {
        events.sort_by_key(|event| event.at);
        let mut all: Vec<_> =
            of_futexes(events).iter().map(|((tid, _), wake)| (*tid, wake.woken.0, wake.waker[1])).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_futex_is_woken_by_the_calls_for_the_same_address_in_the_order_of_the_waits() {
        let mut events = [
            call(1, "futex", 10, 60, [0x100, WAIT, 7], 0),
            call(2, "futex", 12, 90, [0x100, WAIT, 7], 0),
            call(3, "futex", 20, 95, [0x200, WAIT, 7], 0),
            call(4, "futex", 50, 55, [0x100, WAKE, 1], 1),
            call(5, "futex", 70, 75, [0x100, WAKE, 1], 1),
            call(6, "futex", 80, 85, [0x200, WAKE, 1], 0),
        ];
        assert_eq!(shown(&mut events), [(1, 50, 4), (2, 70, 5)]);
        // a call of another address ends no wait, whichever thread makes it
        let mut events =
            [call(1, "futex", 10, 60, [0x100, WAIT, 7], 0), call(2, "futex", 50, 55, [0x200, WAKE, 1], 1)];
        assert!(shown(&mut events).is_empty());
    }

    #[test]
    fn a_wait_that_failed_or_was_over_was_ended_by_nobody() {
        let mut events = [
            call(1, "futex", 10, 60, [0x100, WAIT, 7], -110),
            call(2, "futex", 10, 20, [0x100, WAIT, 7], 0),
            call(3, "futex", 10, 90, [0x100, 128 | 6, 7], 0),
            call(4, "futex", 50, 55, [0x100, WAKE, 1], 1),
        ];
        assert!(shown(&mut events).is_empty());
    }

    #[test]
    fn a_join_is_ended_by_the_end_of_the_thread() {
        let exit = EventKind::Exit { group_dead: false, status: 0 };
        let mut events = [
            call(1, "futex", 10, 60, [0x100, 256 | 9, 8], 0),
            call(8, "getpid", 20, 30, [0; 3], 1),
            Event { at: Nanos(40), pid: 1, tid: 8, kind: exit.clone() },
            Event { at: Nanos(45), pid: 2, tid: 8, kind: exit },
        ];
        assert_eq!(shown(&mut events), [(1, 40, 8)]);
    }

    #[test]
    fn a_wait_for_a_signal_is_ended_by_the_end_of_a_child_that_sends_it() {
        let event = |at: u64, pid: u32, kind| Event { at: Nanos(at), pid, tid: pid, kind };
        let fork = |child| event(1, 1, EventKind::Fork { child_pid: child, child_tid: child });
        let exit = |at, pid| event(at, pid, EventKind::Exit { group_dead: true, status: 0 });
        let waits = |child: u32, ended: u64, signal: i32| {
            let wait = call(1, "rt_sigsuspend", 10, 60, [0x100, 8, 0], -4);
            let signalled = event(61, 1, EventKind::Signalled { signal });
            let mut events = vec![fork(child), exit(ended, 7), wait, exit(61, 9), signalled];
            events.sort_by_key(|event| event.at);
            of_signals(&events).values().map(|wake| (wake.woken.0, wake.waker)).collect::<Vec<_>>()
        };
        assert_eq!(waits(7, 50, libc::SIGCHLD), [(50, [7, 7])]);
        assert!(waits(7, 50, libc::SIGALRM).is_empty(), "a timer ended it");
        assert!(waits(7, 5, libc::SIGCHLD).is_empty(), "the child had ended before");
        assert!(waits(8, 50, libc::SIGCHLD).is_empty(), "the child of another process");
    }

    #[test]
    fn the_signal_of_a_child_interrupts_other_waits_too() {
        let event = |at: u64, pid: u32, kind| Event { at: Nanos(at), pid, tid: pid, kind };
        let woken = |result: i64| {
            let exit = EventKind::Exit { group_dead: true, status: 0 };
            let events = [
                event(1, 1, EventKind::Fork { child_pid: 7, child_tid: 7 }),
                event(50, 7, exit),
                call(1, "epoll_wait", 10, 60, [3, 0x100, 8], result),
                event(61, 1, EventKind::Signalled { signal: libc::SIGCHLD }),
            ];
            of_signals(&events).values().map(|wake| (wake.woken.0, wake.waker)).collect::<Vec<_>>()
        };
        // EINTR, and ERESTARTNOHAND, as which ptrace sees it
        assert_eq!([-4, -514].map(woken), [[(50, [7, 7])]; 2]);
        assert!(woken(1).is_empty(), "something was ready");
    }

    #[test]
    fn a_wait_that_seems_to_end_before_it_began_was_ended_by_nobody() {
        let signalled = EventKind::Signalled { signal: libc::SIGCHLD };
        let events = [
            call(1, "rt_sigsuspend", 60, 10, [0; 3], -4),
            Event { at: Nanos(61), pid: 1, tid: 1, kind: signalled },
        ];
        assert!(of_signals(&events).is_empty());
    }

    #[test]
    fn waitid_names_its_child_or_has_only_one() {
        let child = |name: &str, arguments, result, ended: &[u32]| {
            let event = call(1, name, 1, 2, arguments, result);
            let EventKind::Call(call) = &event.kind else { unreachable!() };
            child_of(name, call, ended.iter().copied())
        };
        assert_eq!(child("wait4", [0; 3], 9, &[9, 8]), Some(9));
        assert_eq!(child("wait4", [0; 3], 0, &[9]), None, "WNOHANG");
        assert_eq!(child("waitid", [1, 9, 0], 0, &[8, 9]), Some(9));
        assert_eq!(child("waitid", [0; 3], 0, &[8]), Some(8));
        assert_eq!(child("waitid", [0; 3], 0, &[8, 9]), None);
    }
}
