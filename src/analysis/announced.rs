//! Which thread brought about the moment that ends a run: the one that wrote the text, or that listens on the port.

use firstbyte_measure::arch::{CallFacts, call_names};
use firstbyte_measure::launch::until::Sign;
use firstbyte_measure::tracer::event::Call;
use firstbyte_measure::tracer::{Event, EventKind, listening};
use firstbyte_measure::units::Nanos;

/// A write: by which process and thread, and how many bytes.
type Written = ([u32; 2], u64);

/// The process and the thread. `None`: the run did not end at such a moment, or the events do not show who it was.
pub(super) fn announcer(events: &[Event]) -> Option<[u32; 2]> {
    let found = events.iter().find_map(|event| match &event.kind {
        EventKind::Reached { sign } => Some((event.at, sign)),
        _ => None,
    });
    let (at, sign) = found?;
    match sign {
        Some(Sign::Stdout { bytes }) => {
            writer_of(events.iter().filter_map(to_stdout), *bytes).or_else(|| unfinished(events, at))
        }
        Some(Sign::Stderr { bytes }) => writer_of(events.iter().filter_map(to_stderr), *bytes),
        Some(Sign::Socket { holders }) => listener(events, at, holders),
        Some(Sign::Ready { pid }) => Some([*pid; 2]).filter(|[pid, _]| *pid != 0),
        Some(Sign::Mark) | None => None,
    }
}

/// Who wrote the byte at this place, counted from 1.
fn writer_of(writes: impl Iterator<Item = Written>, index: u64) -> Option<[u32; 2]> {
    let mut sum = 0_u64;
    let mut reaches = |(_, bytes): &Written| {
        sum = sum.saturating_add(*bytes);
        sum >= index
    };
    writes.into_iter().find(|written| reaches(written)).map(|(by, _)| by)
}

fn to_stdout(event: &Event) -> Option<Written> {
    match event.kind {
        EventKind::OutputExit { result: bytes @ 1.., .. } => {
            Some(([event.pid, event.tid], bytes.unsigned_abs()))
        }
        _ => None,
    }
}

/// As far as a descriptor tells: stderr is number 2.
fn to_stderr(event: &Event) -> Option<Written> {
    let (call, facts) = called(event)?;
    let bytes = call.value().filter(|_| facts.writes() && call.arguments[0] == 2)?;
    Some(([event.pid, event.tid], bytes))
}

/// The write that had begun last: its bytes have arrived, and the run ended before it returned.
fn unfinished(events: &[Event], at: Nanos) -> Option<[u32; 2]> {
    let begins = |event: &&Event| matches!(event.kind, EventKind::OutputEnter { .. }) && event.at <= at;
    events.iter().rev().find(begins).map(|event| [event.pid, event.tid])
}

/// Who made the socket listen: the call that did, else the last one that may have.
fn listener(events: &[Event], at: Nanos, holders: &[(u32, i32)]) -> Option<[u32; 2]> {
    let call = listening::call(events, at, holders).or_else(|| listening::calls(events, at).last());
    call.map(|event| [event.pid, event.tid]).or_else(|| seen(events, holders))
}

/// The first thread of a holder: the run ended before its call returned, so the call is not among the events.
fn seen(events: &[Event], holders: &[(u32, i32)]) -> Option<[u32; 2]> {
    let holds = |event: &&Event| event.pid != 0 && holders.iter().any(|(pid, _)| *pid == event.pid);
    events.iter().find(holds).map(|event| [event.pid, event.pid])
}

fn called(event: &Event) -> Option<(&Call, &'static CallFacts)> {
    let EventKind::Call(call) = &event.kind else { return None };
    Some((call, CallFacts::of(call_names::name(call.call).as_ref())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::arch::{Abi, Syscall, native_number};

    fn event(at: u64, tid: u32, kind: EventKind) -> Event {
        Event { at: Nanos(at), pid: tid, tid, kind }
    }

    fn call(at: u64, tid: u32, name: &str, descriptor: u64, result: i64) -> Event {
        let call = Call {
            call: Syscall { abi: Abi::Native, number: native_number(name).unwrap() },
            entered: Nanos(at - 1),
            result: Some(result),
            arguments: [descriptor, 0, 0, 0, 0, 0],
            ..Call::default()
        };
        event(at, tid, EventKind::Call(Box::new(call)))
    }

    fn output(at: u64, tid: u32, result: i64) -> Event {
        let call = Syscall { abi: Abi::Native, number: native_number("write").unwrap() };
        event(at, tid, EventKind::OutputExit { call, result })
    }

    fn reached(at: u64, sign: Sign) -> Event {
        event(at, 0, EventKind::Reached { sign: Some(sign) })
    }

    #[test]
    fn a_text_was_written_by_the_thread_whose_write_holds_its_end() {
        let events = |bytes| {
            [output(10, 1, 5), output(20, 2, 5), output(30, 3, -11), reached(40, Sign::Stdout { bytes })]
        };
        assert_eq!(
            [5, 6, 10].map(|bytes| announcer(&events(bytes))),
            [Some([1, 1]), Some([2, 2]), Some([2, 2])]
        );
        // the last write arrived before it returned
        let late = [reached(20, Sign::Stdout { bytes: 5 }), output(30, 2, 5)];
        assert_eq!(announcer(&late), Some([2, 2]));
    }

    #[test]
    fn a_text_on_stderr_was_not_written_by_who_wrote_to_stdout() {
        let events = [
            call(10, 1, "write", 2, 3),
            call(20, 2, "write", 2, 3),
            call(25, 4, "write", 5, 9),
            output(30, 3, 5),
            reached(40, Sign::Stderr { bytes: 6 }),
        ];
        assert_eq!(announcer(&events), Some([2, 2]));
    }

    #[test]
    fn a_port_is_that_of_the_process_that_made_the_socket_listen() {
        let events = |holders: &[(u32, i32)]| {
            [
                call(10, 1, "listen", 3, 0),
                call(20, 2, "listen", 4, 0),
                call(30, 2, "listen", 5, 0),
                output(35, 3, 5),
                reached(40, Sign::Socket { holders: holders.to_vec() }),
            ]
        };
        assert_eq!(announcer(&events(&[(1, 3)])), Some([1, 1]), "not the last one that listens");
        assert_eq!(announcer(&events(&[(7, 3)])), Some([1, 1]), "7 inherited it");
        assert_eq!(announcer(&events(&[(2, 4), (9, 4)])), Some([2, 2]));
        assert_eq!(announcer(&events(&[])), Some([2, 2]), "nobody may see who has it");
    }

    #[test]
    fn a_run_may_end_before_the_call_that_listens_returns() {
        let held = reached(40, Sign::Socket { holders: vec![(2, 3)] });
        let events = [call(10, 1, "read", 3, 0), call(20, 2, "socket", 0, 3), held];
        assert_eq!(announcer(&events), Some([2, 2]));
    }

    #[test]
    fn a_run_until_its_exit_has_no_announcer() {
        assert_eq!(announcer(&[output(10, 1, 5)]), None);
    }
}
