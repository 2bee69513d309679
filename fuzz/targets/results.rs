//! Results of `bench` and of hyperfine: an accepted file can be drawn, written, read again, and compared with itself.
#![no_main]

use firstbyte::comparison::compare;
use firstbyte::document::{Document, read};
use firstbyte::report::formats::{asciidoc, bencher, benchmark_action, csv, json, markdown};
use firstbyte::report::text::compare::Gate;
use firstbyte::report::text::terminal::Terminal;
use firstbyte::report::text::{bench as bench_text, compare as compare_text, showdown as showdown_text};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.json");
    let Ok(document) = read::parse(text, path) else { return };
    let written = json::render(&document);
    let again = read::parse(&written, path).expect("a written document can be read");
    assert_eq!(json::render(&again), written, "it changed in a round trip");
    draw(&document);

    if let Ok(comparing) = compare((path, &document), (path, &again)) {
        assert!(comparing.differing.is_empty(), "a file does not differ from itself");
        assert!(comparing.slower_than(0.0).is_empty(), "a file is not slower than itself");
        shows_no_escape(&compare_text::render(
            &comparing,
            Some(Gate { limit: 0.05, ignore_failure: false }),
            &Terminal { width: 80, height: 24, colour: false },
        ));
    }
});

fn draw(document: &Document) {
    for width in [1, 80] {
        let terminal = Terminal { width, height: 24, colour: false };
        shows_no_escape(&bench_text::render(document, &terminal));
        shows_no_escape(&showdown_text::render(document, &terminal));
    }
    for export in [csv::render, markdown::render, asciidoc::render, bencher::render, benchmark_action::render]
    {
        export(document);
    }
}

fn shows_no_escape(text: &str) {
    assert!(!text.contains('\u{1b}'), "{text}");
}
