//! What runtimes report of their loads, which the program may write itself: shown, with the findings.
#![no_main]

use firstbyte::analysis::loads::Load;
use firstbyte::analysis::notes::TraceNotes;
use firstbyte::tracing::{Started, started};
use firstbyte::analysis::trace_document::trace_document;
use firstbyte::analysis::runs::{AskedRuntime, Reports, RunTimes};
use firstbyte::report::formats::json;
use firstbyte::report::text::terminal::Terminal;
use firstbyte::report::text::trace;
use firstbyte_measure::tracer::replay;
use firstbyte_measure::tracer::starts::{TracedStart, TracedStarts};
use firstbyte_measure::units::Nanos;
use serde_json::Value;
use std::cell::RefCell;

const RUNTIMES: [AskedRuntime; 8] = [
    AskedRuntime::Python,
    AskedRuntime::Node,
    AskedRuntime::Java,
    AskedRuntime::Ruby,
    AskedRuntime::Perl,
    AskedRuntime::Go,
    AskedRuntime::Bash,
    AskedRuntime::Zsh,
];

thread_local! {
    /// The start that the reports belong to.
    static RUN: RefCell<Started> = RefCell::new(run());
}

fn run() -> Started {
    let bytes = include_bytes!("../../tests/recordings/small.jsonl");
    let recording = replay::read("small", bytes.as_slice()).expect("a good recording").recording;
    // what it names is not read: it saw other files
    let start = TracedStart { recording, number: 1, sees_our_files: false, bytes: 0 };
    let program = "fuzz".to_owned();
    started(TracedStarts { program, every: 1, starts: vec![start], ..TracedStarts::default() })
        .expect("the recording has an account")
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((runtime, report)) = bytes.split_first() else { return };
    let runtime = RUNTIMES[usize::from(*runtime) % RUNTIMES.len()];
    let texts = vec![(runtime, String::from_utf8_lossy(report).into_owned())];
    let run = |wall| RunTimes { wall: Nanos(wall), processor: Nanos(wall) };
    let reports = Reports { texts, runs: [run(2_000_000), run(1_000_000)] };
    RUN.with_borrow_mut(|run| show(run, reports));
});

fn show(run: &mut Started, reports: Reports) {
    run.analysis.summary.loads.retain(Load::is_file);
    run.analysis.add_reports(Ok(reports));

    let summary = &run.analysis.summary;
    json::render(&trace_document(summary, &run.invocation(Value::Null)));
    let notes = TraceNotes::of(&run.analysis, "fuzz".to_owned());
    let terminal = Terminal { width: 80, height: 24, colour: false };
    let text =
        trace::full_second_part(summary, &notes, &terminal) + &trace::second_part(summary, &notes, &terminal);
    assert!(!text.contains('\u{1b}'), "{text}");
}
