//! One print in a recording: everything that its thread did between the previous write and its own.

use super::{LINE, MARKER};
use firstbyte_measure::arch::call_names;
use firstbyte_measure::tracer::{Event, EventKind, Recording};
use firstbyte_measure::units::Nanos;

/// One print in a recording.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PrintSection {
    pub(super) lasts: Nanos,
    /// The names of its system calls, in order.
    pub(super) calls: Vec<String>,
    /// The number of its page faults.
    pub(super) faults: u64,
}

impl PrintSection {
    /// The print with this number, from 1; `None` if the recording does not contain its write.
    pub(super) fn find(recording: &Recording, print: u64) -> Option<PrintSection> {
        let ended = |prints: u64| written(recording, MARKER.len() as u64 + LINE.len() as u64 * prints);
        let (before, after) = (ended(print - 1)?, ended(print)?);
        let within = |event: &&Event| event.at > before.at && event.at <= after.at && event.tid == after.tid;

        let mut section = PrintSection { lasts: after.at.since(before.at)?, calls: Vec::new(), faults: 0 };
        for event in recording.events.iter().filter(within) {
            match &event.kind {
                EventKind::Call(call) => section.calls.push(call_names::name(call.call)),
                EventKind::Fault(_) => section.faults += 1,
                _ => {}
            }
        }
        Some(section)
    }
}

/// The write of output that completes this many bytes.
fn written(recording: &Recording, bytes: u64) -> Option<&Event> {
    let mut sum = 0;
    recording.events.iter().find(|event| {
        if let EventKind::Call(call) = &event.kind
            && call.prints()
        {
            sum += call.result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0);
            return sum >= bytes;
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::tracer::event::Call;
    use firstbyte_measure::tracer::{Abi, Backend, Syscall};

    fn call(name: &str, at: u64, written: i64) -> Event {
        let call = Syscall { abi: Abi::Native, number: call_names::native_number(name).unwrap() };
        let call = Call {
            call,
            entered: Nanos(at - 1),
            result: Some(written),
            arguments: [1, 0, 0, 0, 0, 0],
            ..Call::default()
        };
        Event { at: Nanos(at), pid: 7, tid: 7, kind: EventKind::Call(Box::new(call)) }
    }

    #[test]
    fn a_print_lasts_from_the_previous_write_to_its_own() {
        let mut events = vec![call("write", 100, 24), call("brk", 130, 0), call("write", 150, 12)];
        // The second print consists of two writes.
        events.extend([call("write", 160, 11), call("write", 165, 1)]);

        let recording = Recording { events, ..Recording::empty(Backend::Ptrace, 7) };

        let print = |lasts, calls: &[&str]| {
            let calls = calls.iter().map(|name| (*name).to_owned()).collect();
            Some(PrintSection { lasts: Nanos(lasts), calls, faults: 0 })
        };
        assert_eq!(PrintSection::find(&recording, 1), print(50, &["brk", "write"]));
        assert_eq!(PrintSection::find(&recording, 2), print(15, &["write", "write"]));
        assert_eq!(PrintSection::find(&recording, 3), None);
    }
}
