//! All programs of a watch for ui.perfetto.dev, as Chrome's trace-event JSON. A lane is a thread; an execution is a slice with
//! its parts inside.

use super::watch_lanes::lanes;
use crate::document::watch::{WatchDocument, WatchRun, WatchTimeline};
use serde_json::{Value, json};

/// The process of all lanes.
const PROGRAMS: u32 = 1;

pub fn render(document: &WatchDocument, timeline: &WatchTimeline) -> String {
    let title = document.command.as_ref().unwrap_or(&document.scope);
    let placed = lanes(&timeline.runs);
    let count = placed.iter().map(|(lane, _)| lane + 1).max().unwrap_or(0);

    let mut events = vec![metadata("process_name", 0, title)];
    events.extend((0..count).map(|lane| metadata("thread_name", lane, &format!("lane {}", lane + 1))));
    for (lane, run) in placed {
        events.push(execution(lane, run));
        events.extend(run.parts().map(|(part, from, to)| slice(lane, "part", part.name(), from, to)));
    }
    let document = json!({"displayTimeUnit": "ns", "traceEvents": events});
    serde_json::to_string(&document).unwrap_or_default() + "\n"
}

/// Thread ids begin at 1: Perfetto takes 0 for the idle thread.
fn metadata(what: &str, lane: usize, name: &str) -> Value {
    json!({"ph": "M", "name": what, "pid": PROGRAMS, "tid": lane + 1, "args": {"name": name}})
}

fn execution(lane: usize, run: &WatchRun) -> Value {
    let mut event = slice(lane, "program", &run.program, run.start, run.end);
    event["args"] = json!({
        "command": run.command.as_deref(),
        "process": run.pid,
        "cpu_ns": run.cpu_ns,
        "end": run.outcome,
    });
    event
}

/// The unit of the format is the microsecond; the fraction keeps the nanoseconds.
fn slice(lane: usize, category: &str, name: &str, from: u64, to: u64) -> Value {
    json!({
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": PROGRAMS,
        "tid": lane + 1,
        "ts": from as f64 / 1e3,
        "dur": (to - from) as f64 / 1e3,
    })
}
