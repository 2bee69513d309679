//! Documents of `watch`: an accepted one can be shown, written, read again, exported, and compared with itself.
#![no_main]

use firstbyte::comparison::watches::compare_watches;
use firstbyte::document::watch::WatchDocument;
use firstbyte::prometheus::fuzzed;
use firstbyte::report::formats::{json, openmetrics};
use firstbyte::report::text::terminal::Terminal;
use firstbyte::report::text::{watch as watch_text, watch_compare as compare_text};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.json");
    let Ok(document) = WatchDocument::parse(text, path) else { return };
    let written = json::render(&document);
    let again = WatchDocument::parse(&written, path).expect("a written document can be read");
    assert_eq!(json::render(&again), written, "it changed in a round trip");

    let comparison = compare_watches((path, &document), (path, &again));
    for width in [1, 80] {
        let terminal = Terminal { width, height: 24, colour: false };
        shows_no_escape(&watch_text::render(&document, &terminal));
        shows_no_escape(&compare_text::render(&comparison, &terminal));
    }
    let exposition = fuzzed::exposition(&document);
    for dialect in [openmetrics::Dialect::OpenMetrics, openmetrics::Dialect::Prometheus] {
        openmetrics::render(&exposition, dialect);
    }
});

fn shows_no_escape(text: &str) {
    assert!(!text.contains('\u{1b}'), "{text}");
}
