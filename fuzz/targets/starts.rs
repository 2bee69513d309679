//! Starts that others made: the records of one, explained, with its findings, as text and as a document.
#![no_main]

use firstbyte::tracing::started;
use firstbyte::analysis::trace_document::trace_document;
use firstbyte::report::formats::json;
use firstbyte::report::text::terminal::Terminal;
use firstbyte::report::text::trace;
use firstbyte_measure::tracer::bpf::fuzzed;
use firstbyte_measure::tracer::starts::{TracedStart, TracedStarts};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // what it names is not read: it saw other files
    let start = TracedStart { recording: fuzzed::start(bytes), number: 1, sees_our_files: false, bytes: 0 };
    let traced =
        TracedStarts { program: "fuzz".to_owned(), every: 1, starts: vec![start], ..Default::default() };
    let Ok(started) = started(traced) else { return };

    let summary = &started.analysis.summary;
    json::render(&trace_document(summary, &started.invocation(Value::Null)));
    let terminal = Terminal { width: 80, height: 24, colour: false };
    let text = trace::full_first_part(summary, "fuzz", &terminal)
        + &trace::full_second_part(summary, &started.notes, &terminal)
        + &trace::whole(summary, &started.notes, "fuzz", &terminal);
    assert!(!text.contains('\u{1b}'), "{text}");
});
