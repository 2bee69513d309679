//! Who ended the wait of an event loop, where the backend sees no wake-ups (ptrace): the thread that wrote to the loop's
//! `eventfd(2)`, which the loop's thread then read.

use super::inferred_wakes::InferredWakes;
use super::model::Wake;
use firstbyte_measure::arch::{CallFacts, Wait, call_names};
use firstbyte_measure::tracer::event::Call;
use firstbyte_measure::tracer::{Event, EventKind};
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};

/// The waits of event loops that another thread of the same process has ended.
pub(super) fn of_eventfds(events: &[Event]) -> InferredWakes {
    let opens = |event: &Event| matches!(&event.kind, EventKind::Call(call) if is_eventfd(call));
    if !events.iter().any(opens) {
        return InferredWakes::new();
    }

    let mut calls: Vec<EventfdCall> = events.iter().filter_map(eventfd_call).collect();
    // A writer may return later than the thread that it woke has read.
    calls.sort_by_key(|call| call.entered);

    let mut loops = EventLoops::default();
    for call in &calls {
        loops.take(call);
    }
    loops.found
}

/// A call that may matter for an event descriptor.
#[derive(Clone, Copy, Debug)]
struct EventfdCall {
    pid: u32,
    tid: u32,
    entered: Nanos,
    left: Nanos,
    did: EventfdUse,
}

#[derive(Clone, Copy, Debug)]
enum EventfdUse {
    Opens(u64),
    /// The first and the last number.
    Closes(u64, u64),
    Writes(u64),
    Reads(u64),
    /// Whether something ended the wait before its time was up.
    Waits(bool),
}

fn eventfd_call(event: &Event) -> Option<EventfdCall> {
    let (did, entered) = match &event.kind {
        EventKind::Call(call) => (eventfd_use(call)?, call.entered),
        EventKind::ExecCommit { .. } => (EventfdUse::Closes(0, u64::MAX), event.at),
        _ => return None,
    };
    Some(EventfdCall { pid: event.pid, tid: event.tid, entered, left: event.at, did })
}

fn is_eventfd(call: &Call) -> bool {
    ["eventfd", "eventfd2"].contains(&&*call_names::name(call.call))
}

fn eventfd_use(call: &Call) -> Option<EventfdUse> {
    let (value, [first, second, ..], name) = (call.value()?, call.arguments, call_names::name(call.call));
    Some(match &*name {
        _ if is_eventfd(call) => EventfdUse::Opens(value),
        "close" => EventfdUse::Closes(first, first),
        "close_range" => EventfdUse::Closes(first, second),
        "dup2" | "dup3" => EventfdUse::Closes(second, second),
        "write" => EventfdUse::Writes(first),
        "read" => EventfdUse::Reads(first),
        _ if CallFacts::of(&name)?.waits_for()? == Wait::Poll => EventfdUse::Waits(value > 0),
        _ => return None,
    })
}

/// What threads did with event descriptors so far, in the order in which their calls began.
#[derive(Default)]
struct EventLoops {
    /// The writes to each open descriptor, by its process and number: when they began, and their threads.
    written: BTreeMap<(u32, u64), Vec<(Nanos, u32)>>,
    /// The last wait of each thread that something has ended: when it began and returned.
    waits: HashMap<u32, (Nanos, Nanos)>,
    found: InferredWakes,
}

impl EventLoops {
    fn take(&mut self, call: &EventfdCall) {
        let pid = call.pid;
        match call.did {
            EventfdUse::Opens(number) => {
                self.written.insert((pid, number), Vec::new());
            }
            EventfdUse::Closes(first, last) => {
                self.written.retain(|(of, number), _| *of != pid || !(first..=last).contains(number));
            }
            EventfdUse::Writes(number) => {
                if let Some(writes) = self.written.get_mut(&(pid, number)) {
                    writes.push((call.entered, call.tid));
                }
            }
            EventfdUse::Reads(number) => self.read(call, number),
            EventfdUse::Waits(true) => {
                self.waits.insert(call.tid, (call.entered, call.left));
            }
            EventfdUse::Waits(false) => {
                self.waits.remove(&call.tid);
            }
        }
    }

    /// The first write during the wait has ended it.
    fn read(&mut self, call: &EventfdCall, number: u64) {
        let Some((from, until)) = self.waits.get(&call.tid).copied() else { return };
        let Some(writes) = self.written.get(&(call.pid, number)) else { return };
        let begun = writes.partition_point(|(at, _)| *at < from);
        let mut meanwhile = writes[begun..].iter().take_while(|(at, _)| *at < until);
        // the thread itself waits, and may then read several
        if let Some(&(woken, by)) = meanwhile.next() {
            let wake = Wake { from, woken, waker: [call.pid, by] };
            let found = self.found.entry((call.tid, until)).or_insert(wake);
            if woken < found.woken {
                *found = wake;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::inferred_wakes::tests::call;
    use super::*;

    fn woken(mut events: Vec<Event>) -> Vec<(u64, u32)> {
        events.sort_by_key(|event| event.at);
        of_eventfds(&events).values().map(|wake| (wake.woken.0, wake.waker[1])).collect()
    }

    #[test]
    fn an_event_loop_is_woken_by_the_thread_that_writes_to_the_eventfd_that_it_reads() {
        let of = |written: u64, read: u64, ready: i64, returned: u64| {
            woken(vec![
                call(1, "eventfd2", 1, 2, [0; 3], 9),
                call(1, "eventfd2", 3, 4, [0; 3], 10),
                call(1, "epoll_wait", 10, 60, [5, 0x100, 8], ready),
                call(2, "write", 30, 35, [10, 0x200, 8], 8),
                call(3, "write", 50, returned, [written, 0x200, 8], 8),
                call(1, "read", 61, 62, [read, 0x300, 8], 8),
            ])
        };
        assert_eq!(of(9, 9, 1, 55), [(50, 3)]);
        assert_eq!(of(9, 9, 1, 70), [(50, 3)], "the writer had to wait for a processor");
        assert!(of(9, 8, 1, 55).is_empty(), "it reads something else");
        assert!(of(7, 9, 1, 55).is_empty(), "nobody wrote to it");
        assert!(of(9, 9, 0, 55).is_empty(), "the time was up");
    }

    #[test]
    fn the_first_of_two_writers_during_the_wait_ends_it() {
        let waits = |writers: [(u32, u64, u64); 2]| {
            let write = |(tid, from, to)| call(tid, "write", from, to, [9, 0x200, 8], 8);
            let mut events = vec![
                call(1, "eventfd2", 1, 2, [0; 3], 9),
                call(1, "epoll_wait", 10, 60, [5, 0x100, 8], 1),
                call(1, "read", 61, 62, [9, 0x300, 8], 8),
            ];
            events.extend(writers.map(write));
            woken(events)
        };
        assert_eq!(waits([(2, 20, 58), (3, 30, 40)]), [(20, 2)]);
        assert_eq!(waits([(2, 5, 6), (3, 30, 40)]), [(30, 3)], "the first one was there before");
        assert!(waits([(2, 5, 6), (3, 60, 70)]).is_empty(), "the second one came too late");
    }

    #[test]
    fn the_first_write_ends_a_wait_for_two_eventfds() {
        let events = vec![
            call(1, "eventfd2", 1, 2, [0; 3], 9),
            call(1, "eventfd2", 3, 4, [0; 3], 10),
            call(1, "epoll_wait", 10, 60, [5, 0x100, 8], 2),
            call(2, "write", 20, 25, [10, 0x200, 8], 8),
            call(3, "write", 50, 55, [9, 0x200, 8], 8),
            call(1, "read", 61, 62, [9, 0x300, 8], 8),
            call(1, "read", 63, 64, [10, 0x300, 8], 8),
        ];
        assert_eq!(woken(events), [(20, 2)]);
    }

    #[test]
    fn the_number_of_an_eventfd_that_was_closed_is_another_file() {
        for (name, arguments) in [("close", [9, 0, 0]), ("close_range", [3, 100, 0]), ("dup2", [4, 9, 0])] {
            let events = vec![
                call(1, "eventfd2", 1, 2, [0; 3], 9),
                call(1, name, 3, 4, arguments, 0),
                call(1, "poll", 10, 60, [0x100, 1, 8], 1),
                call(3, "write", 50, 55, [9, 0x200, 8], 8),
                call(1, "read", 61, 62, [9, 0x300, 8], 8),
            ];
            assert!(woken(events).is_empty(), "{name}");
        }
    }
}
