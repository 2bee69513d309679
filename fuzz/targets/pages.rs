//! Documents of every kind: each one that `report` accepts has a page.
#![no_main]

use firstbyte::comparison::machines::by_machine;
use firstbyte::report::html::{PageSource, Together, render};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(source) = PageSource::parse(text, Path::new("fuzz.json")) {
        // a file of another machine has the same programs
        let machines = match &source {
            PageSource::Programs(document) => by_machine(&[("fuzz", document), ("other", document)]),
            _ => Vec::new(),
        };
        let together = Together { machines, ..Together::default() };
        render(&[("fuzz.json".to_owned(), source)], &together);
    }
});
