//! The records of a watch: any bytes give events, and events a document and its exports.
#![no_main]

use firstbyte::report::formats::{json, watch_firefox, watch_perfetto};
use firstbyte::report::text::terminal::Terminal;
use firstbyte::report::text::watch as watch_text;
use firstbyte::watch::fuzzed::watched;
use firstbyte_measure::tracer::bpf::fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let events = fuzzed::watch(bytes);
    // little memory, as a long watch has it
    let (document, timeline) = watched(&events, 4096);
    assert!(document.results.len() <= events.len());
    json::render(&document);
    watch_perfetto::render(&document, &timeline);
    watch_firefox::render(&document, &timeline);
    let text = watch_text::render(&document, &Terminal { width: 80, height: 24, colour: false });
    assert!(!text.contains('\u{1b}'), "{text}");
});
