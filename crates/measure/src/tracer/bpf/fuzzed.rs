//! The readers of the kernel's records, for `fuzz/`: what a run makes of them, without a run.

use super::full_records::{LongPaths, add, records};
use super::phases_session::parse;
use crate::launch::ExitStatus;
use crate::launch::wait::Usage;
use crate::tracer::{Backend, Event, EventKind, Output, Recording};
use crate::units::Nanos;

/// The bytes of a record in the phases mode without its path.
const RECORD: usize = 32;

/// The longest time after boot that is worth trying, in nanoseconds: the kernel's clock needs 13 days for it.
const LATEST: u64 = 1 << 50;

/// The recording of the full mode.
pub fn full(log: &[u8]) -> Recording {
    let (mut events, mut long, mut lost) = (Vec::new(), LongPaths::default(), 0);
    let read: usize = records(log).map(<[u8]>::len).sum();
    // What does not fit into the log comes through the ring, and may be anything.
    for record in records(log).chain(log.get(read..)) {
        lost += u64::from(add(&mut events, &mut long, record).is_none());
    }
    let mut recording = framed(events);
    recording.lost = lost;
    recording.add_output_events();
    recording
}

/// The recording of the phases mode: the records of its log, and one of the ring, with a path.
pub fn phases(log: &[u8]) -> Recording {
    let (records, path) = log.as_chunks::<RECORD>();
    let mut events: Vec<Event> = records.iter().filter_map(|record| parse(record)).collect();
    events.extend(parse(log));
    events.extend(parse(path));
    framed(events)
}

fn framed(mut events: Vec<Event>) -> Recording {
    events.retain(|event| event.at.0 < LATEST);
    events.sort_by_key(|event| event.at);
    let root = events.first().map_or(1, |event| event.pid);
    let ours = |at, kind| Event { at, pid: 0, tid: 0, kind };
    let [first, last] = [events.first(), events.last()].map(|event| event.map_or(Nanos(0), |event| event.at));
    events.insert(0, ours(first, EventKind::Spawn));
    events.push(ours(last, EventKind::Reaped { status: 0 }));

    Recording {
        backend: Backend::Bpf,
        command: vec!["./fuzz".to_owned()],
        root,
        events,
        lost: 0,
        exit: ExitStatus::SUCCESS,
        output: Output::default(),
        killed: None,
        usage: Usage::default(),
        left_behind: false,
    }
}
