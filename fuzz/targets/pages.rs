//! Documents of every kind: each one that `report` accepts has a page.
#![no_main]

use firstbyte::report::html::{PageSource, render};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(source) = PageSource::parse(text, Path::new("fuzz.json")) {
        render(&[("fuzz.json".to_owned(), source)]);
    }
});
