//! Who ended the wait of an event loop, where the backend sees no wake-ups (ptrace): the thread that wrote to the loop's
//! `eventfd(2)`, which the loop's thread then read.

use super::descriptors::{Descriptors, EventfdId};
use super::model::Wake;
use firstbyte_measure::arch::{Argument, CallFacts, Use, Wait};
use firstbyte_measure::tracer::Event;
use firstbyte_measure::tracer::event::Call;
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};

/// What was done with the event descriptors of a run, and the waits of its event loops. A call that failed did nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct EventLoops {
    /// When they began, and by whom.
    writes: BTreeMap<EventfdId, Vec<(Nanos, [u32; 2])>>,
    reads: Vec<Read>,
    /// By thread, in order.
    waits: HashMap<u32, Vec<LoopWait>>,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    tid: u32,
    entered: Nanos,
    eventfd: EventfdId,
}

#[derive(Clone, Copy, Debug)]
struct LoopWait {
    from: Nanos,
    until: Nanos,
    /// Something ended it before its time was up.
    has_ended: bool,
}

impl EventLoops {
    /// Notes that a call waits, or reads from an event descriptor or writes to one.
    pub(super) fn call(&mut self, event: &Event, call: &Call, facts: &CallFacts, descriptors: &Descriptors) {
        let Some(value) = call.value() else { return };
        if facts.waits_for() == Some(Wait::Poll) {
            let wait = LoopWait { from: call.entered, until: event.at, has_ended: value > 0 };
            self.waits.entry(event.tid).or_default().push(wait);
        }
        for used in [Use::Reads, Use::Writes] {
            let Some(at) = facts.position(Argument::Descriptor(used)) else { continue };
            #[allow(clippy::cast_possible_truncation)] // a C int is in the low half of its register
            let Some(eventfd) = descriptors.eventfd(call.arguments[usize::from(at)] as i32) else { continue };
            if used == Use::Reads {
                self.reads.push(Read { tid: event.tid, entered: call.entered, eventfd });
            } else {
                let write = (call.entered, [event.pid, event.tid]);
                self.writes.entry(eventfd).or_default().push(write);
            }
        }
    }

    /// The ends of waits, each with its thread. The first write during the wait has ended it.
    pub(super) fn wakes(&mut self) -> Vec<(u32, Wake)> {
        // a writer may return later than the thread that it woke has read
        self.writes.values_mut().for_each(|writes| writes.sort_unstable());
        let mut found: BTreeMap<(u32, Nanos), Wake> = BTreeMap::new();
        for read in &self.reads {
            let Some(wake) = self.wake(read) else { continue };
            let first = found.entry((read.tid, wake.from)).or_insert(wake);
            if wake.woken < first.woken {
                *first = wake;
            }
        }
        found.into_iter().map(|((tid, _), wake)| (tid, wake)).collect()
    }

    fn wake(&self, read: &Read) -> Option<Wake> {
        let waits = self.waits.get(&read.tid)?;
        let last = waits.partition_point(|wait| wait.until <= read.entered).checked_sub(1)?;
        let LoopWait { from, until, has_ended } = waits[last];
        let writes = self.writes.get(&read.eventfd)?;
        let (woken, waker) = *writes.get(writes.partition_point(|(at, _)| *at < from))?;
        (has_ended && woken < until).then_some(Wake { from, woken, waker })
    }
}

#[cfg(test)]
mod tests {
    use super::super::binaries::NoBinaries;
    use super::super::inferred_wakes::tests::call;
    use super::super::reading::Reconstruction;
    use super::*;
    use firstbyte_measure::tracer::{Backend, Recording};

    /// When the waits of the first thread ended, and by whom.
    fn woken(mut events: Vec<Event>) -> Vec<(u64, u32)> {
        events.sort_by_key(|event| event.at);
        let recording = Recording { events, ..Recording::empty(Backend::Ptrace, 1) };
        let threads = Reconstruction::of(&recording, &NoBinaries, Nanos(1000)).threads;
        let first = threads.iter().find(|thread| thread.tid == 1).unwrap();
        first.wakes.iter().map(|wake| (wake.woken.0, wake.waker[1])).collect()
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
    fn a_duplicate_is_the_same_eventfd() {
        let events = vec![
            call(1, "eventfd2", 1, 2, [0; 3], 9),
            call(1, "dup", 3, 4, [9, 0, 0], 11),
            call(1, "close", 5, 6, [9, 0, 0], 0),
            call(1, "poll", 10, 60, [0x100, 1, 8], 1),
            call(3, "write", 50, 55, [11, 0x200, 8], 8),
            call(1, "read", 61, 62, [11, 0x300, 8], 8),
        ];
        assert_eq!(woken(events), [(50, 3)]);
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
