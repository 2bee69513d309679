//! What a watch makes of its events, for `fuzz/`: without a watch.

use super::command_lines::CommandLines;
use super::summary::{Frame, document, timeline};
use super::tally::Tally;
use crate::document::watch::{WatchDocument, WatchTimeline};
use firstbyte_measure::tracer::Backend;
use firstbyte_measure::tracer::watch::WatchEvent;
use firstbyte_measure::units::Nanos;
use serde_json::Value;

/// The results of a command that made these events. `memory`: in bytes, for what is kept.
pub fn watched(events: &[WatchEvent], memory: u64) -> (WatchDocument, WatchTimeline) {
    let mut tally = Tally::new(memory, true, CommandLines::Whole);
    tally.find_critical_path();
    for event in events {
        tally.add(event);
    }
    tally.finish();
    let frame = Frame {
        command: Some("fuzz".to_owned()),
        scope: String::new(),
        exit: None,
        wall: Nanos(1_000_000),
        partial: false,
        lost: 0,
        backend: Backend::Bpf,
        slow_calls: None,
        waits_unknown: None,
    };
    (document(&tally, frame, Value::Null), timeline(&tally))
}
