//! The readers of the kernel's records, for `fuzz/`: what a run makes of them, without a run.

use super::full_records::{LongPaths, add, records};
use super::phases_session::parse;
use super::{starts, watch_records};
use crate::tracer::watch::WatchEvent;
use crate::tracer::{Backend, Event, EventKind, Recording};
use crate::units::Nanos;

/// The bytes of a record in the phases mode without its path.
const RECORD: usize = 32;

/// The longest time after boot that is worth trying, in nanoseconds: the kernel's clock needs 13 days for it.
const LATEST: u64 = 1 << 50;

/// The recording of the full mode.
pub fn full(log: &[u8]) -> Recording {
    let (events, lost) = events(log);
    let mut recording = framed(events);
    recording.lost = lost;
    recording.add_output_events();
    recording
}

/// The recording of a start that nobody launched for us: by the process of the first record.
pub fn start(log: &[u8]) -> Recording {
    let (mut events, lost) = events(log);
    events.retain(|event| event.at.0 < LATEST);
    events.sort_by_key(|event| event.at);
    let root = events.first().map_or(1, |event| event.pid);
    starts::recording(events, lost, root)
}

/// What a watch observes: the records of its ring, each after its length in two bytes.
pub fn watch(mut ring: &[u8]) -> Vec<WatchEvent> {
    let mut events = Vec::new();
    while let Some((length, rest)) = ring.split_first_chunk() {
        let (record, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
        events.extend(watch_records::parse(record).filter(is_possible));
        ring = rest;
    }
    events
}

/// Whether the kernel's clock can be so late, and a process have run for so long.
fn is_possible(event: &WatchEvent) -> bool {
    let latest = match event {
        WatchEvent::Started(started) => started.run.entered,
        WatchEvent::Ended(ended) => ended.at.max(ended.cpu),
        WatchEvent::Failed(_) => Nanos(0),
        WatchEvent::LateWait(wait) => wait.at.max(wait.worked),
        WatchEvent::Marked(mark) => mark.at.max(mark.by.entered),
    };
    latest.0 < LATEST
}

/// What the records say, and how many of them say nothing.
fn events(log: &[u8]) -> (Vec<Event>, u64) {
    let (mut events, mut long, mut lost) = (Vec::new(), LongPaths::default(), 0);
    let read: usize = records(log).map(<[u8]>::len).sum();
    // What does not fit into the log comes through the ring, and may be anything.
    for record in records(log).chain(log.get(read..)) {
        lost += u64::from(add(&mut events, &mut long, record).is_none());
    }
    (events, lost)
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

    Recording { command: vec!["./fuzz".to_owned()], events, ..Recording::empty(Backend::Bpf, root) }
}
