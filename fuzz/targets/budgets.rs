//! `firstbyte.toml`: accepted budgets have names, and refused ones have a line of help.
#![no_main]

use firstbyte::budget::budget_file;
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match budget_file::parse(text, Path::new("fuzz.toml")) {
        Ok(file) => {
            let unnamed =
                file.programs.iter().find(|p| p.label().trim().is_empty() || p.command.trim().is_empty());
            assert!(unnamed.is_none(), "a program without a name");
        }
        Err(error) => assert!(error.to_string().contains("\nhelp: "), "{error}"),
    }
});
