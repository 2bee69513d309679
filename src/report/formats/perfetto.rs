//! A start-up for ui.perfetto.dev, as Chrome's trace-event JSON ("Trace Event Format"), which Perfetto imports. Complete
//! events (`X`) of one thread are nested by their times.

use crate::analysis::attribution::kind;
use crate::analysis::trace_document::name;
use crate::analysis::{Account, Step, ThreadAccount};
use crate::document::named_span::NamedSpan;
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::timeline::marks::SpanKind;
use firstbyte_measure::units::Nanos;
use serde_json::{Value, json};

/// The process and thread of the phases: no process has this id.
const PHASES: u32 = 0;

/// The thread of the chain of marks, beside that of the phases.
const MARKS: u32 = 1;

/// One run as trace events.
pub fn render(command: &str, account: &Account, marks: &[NamedSpan]) -> String {
    let mut events = vec![
        metadata("process_name", PHASES, PHASES, "phases"),
        metadata("process_name", account.root, account.root, command),
    ];
    events.extend(phases(account));
    events.extend(named_spans(marks));
    for process in account.processes.iter().filter(|process| process.pid != account.root) {
        let exec = process.execs.last().map_or_else(String::new, |exec| shell_words::join(&exec.argv));
        events.push(metadata("process_name", process.pid, process.pid, &exec));
    }
    for thread in &account.threads {
        let title = if thread.pid == thread.tid { "main thread" } else { "thread" };
        events.push(metadata("thread_name", thread.pid, thread.tid, title));
        events.extend(thread.steps.iter().map(|step| slice(thread, step)));
    }
    let document = json!({"displayTimeUnit": "ns", "traceEvents": events});
    serde_json::to_string(&document).unwrap_or_default() + "\n"
}

fn metadata(what: &str, pid: u32, tid: u32, value: &str) -> Value {
    json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": value}})
}

fn phases(account: &Account) -> Vec<Value> {
    let (mut at, mut slices) = (Nanos(0), Vec::new());
    for phase in Phase::ALL {
        let Some(duration) = account.phases.get(phase) else { continue };
        slices.push(json!({
            "ph": "X", "cat": "phase", "name": phase.name(), "pid": PHASES, "tid": PHASES,
            "ts": microseconds(at), "dur": microseconds(duration),
        }));
        at = at + duration;
    }
    slices
}

/// The chain of marks is a thread of its own, and a span with ends of its own is a slice of its thread that may overlap others.
fn named_spans(marks: &[NamedSpan]) -> Vec<Value> {
    let is_chained = |span: &&NamedSpan| span.kind == SpanKind::Mark;
    let mut events: Vec<Value> = marks
        .iter()
        .find(is_chained)
        .map(|_| metadata("thread_name", PHASES, MARKS, "marks"))
        .into_iter()
        .collect();
    let places = marks.iter().flat_map(|span| span.places.iter().map(move |place| (span, place)));
    for (id, (span, place)) in places.enumerate() {
        let [from, to] = [place.from_ns, place.to_ns].map(|at| microseconds(Nanos(at)));
        if is_chained(&span) {
            events.push(json!({
                "ph": "X", "cat": "mark", "name": span.name, "pid": PHASES, "tid": MARKS,
                "ts": from, "dur": to - from,
            }));
            continue;
        }
        events.extend([("b", from), ("e", to)].map(|(end, at)| {
            json!({
                "ph": end, "cat": "mark", "name": span.name, "id": id, "pid": place.pid, "tid": place.tid, "ts": at,
            })
        }));
    }
    events
}

fn slice(thread: &ThreadAccount, step: &Step) -> Value {
    json!({
        "ph": "X",
        "cat": kind(&step.what).key(),
        "name": name(&step.what),
        "pid": thread.pid,
        "tid": thread.tid,
        "ts": microseconds(step.start),
        "dur": microseconds(step.elapsed),
        "args": {"what": step.what.title(), "own_ns": step.self_time.0},
    })
}

/// The unit of the format; the fraction keeps the nanoseconds.
fn microseconds(time: Nanos) -> f64 {
    time.as_f64() / 1e3
}
