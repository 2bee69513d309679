//! Feeds the readers of files with files that are nearly right.
//!
//! Each case changes a good file in a few places: bytes, whole tokens, cuts, doubled parts. No reader may panic, and a
//! file that is accepted as a document can be drawn, written, and read again with the same result.
//!
//! `FIRSTBYTE_FUZZ_CASES` is the number of cases. `make proofs` runs many more than the test suite.

use firstbyte::budget::budget_file;
use firstbyte::comparison::compare;
use firstbyte::document::{Document, read};
use firstbyte::report::formats::{asciidoc, bencher, benchmark_action, csv, json, markdown};
use firstbyte::report::text::compare::Gate;
use firstbyte::report::text::terminal::Terminal;
use firstbyte::report::text::{bench as bench_text, compare as compare_text, showdown as showdown_text};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;
use std::path::Path;

const CASES: u32 = 1000;

/// One change to a file. Places are fractions of its length.
#[derive(Clone, Debug)]
enum Change {
    Byte(f64, u8),
    Insert(f64, &'static str),
    /// Replaces the number or word at this place.
    Token(f64, &'static str),
    Cut(f64, f64),
    Double(f64, f64),
    End(f64),
}

/// Values that readers often fail on.
const TOKENS: [&str; 24] = [
    "NaN",
    "nan",
    "inf",
    "-1",
    "-0.0",
    "0",
    "1e308",
    "1e999",
    "5e-324",
    "18446744073709551615",
    "18446744073709551616",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"x\"",
    "\"firstbyte/2\"",
    "'1e400s'",
    "\"5ms\"",
    "\"99999999999999999999MiB\"",
    "\"\\u001b[31m\"",
    "\u{202e}",
    "\u{0}",
];

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = || 0.0..1.0;
    let token = || proptest::sample::select(&TOKENS[..]);
    let change = prop_oneof![
        2 => (place(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        2 => (place(), token()).prop_map(|(at, token)| Change::Insert(at, token)),
        6 => (place(), token()).prop_map(|(at, token)| Change::Token(at, token)),
        1 => (place(), 0.0..0.1).prop_map(|(at, length)| Change::Cut(at, length)),
        1 => (place(), 0.0..0.1).prop_map(|(at, length)| Change::Double(at, length)),
        1 => place().prop_map(Change::End),
    ];
    proptest::collection::vec(change, 1..4)
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for change in changes {
        change.apply(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a small length"
        )]
        let at = |part: f64| ((part * length as f64) as usize).min(length);
        match *self {
            Change::Byte(place, byte) if length > 0 => bytes[at(place).min(length - 1)] = byte,
            Change::Byte(..) => {}
            Change::Insert(place, token) => drop(bytes.splice(at(place)..at(place), token.bytes())),
            Change::Token(place, token) => {
                let part = token_at(bytes, at(place));
                drop(bytes.splice(part, token.bytes()));
            }
            Change::Cut(place, part) => drop(bytes.drain(at(place)..at(place + part))),
            Change::Double(place, part) => {
                let doubled = bytes[at(place)..at(place + part)].to_vec();
                drop(bytes.splice(at(place)..at(place), doubled));
            }
            Change::End(place) => bytes.truncate(at(place)),
        }
    }
}

/// The next value after `from`, between two separators.
fn token_at(bytes: &[u8], from: usize) -> std::ops::Range<usize> {
    let is_separator = |byte: &u8| b":,[]{}= \n".contains(byte);
    let begins = bytes[from..].iter().position(is_separator).map_or(bytes.len(), |at| from + at);
    let begins = bytes[begins..].iter().position(|b| !is_separator(b)).map_or(bytes.len(), |at| begins + at);
    let ends = bytes[begins..].iter().position(is_separator).map_or(bytes.len(), |at| begins + at);
    begins..ends
}

/// Runs `check` on changed files. It returns whether the reader accepted the file.
fn fuzz(seeds: &[&'static str], check: impl Fn(&str) -> bool) {
    let cases = std::env::var("FIRSTBYTE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (taken, all) = (Cell::new(0_u32), Cell::new(0_u32));
    let outcome = runner.run(&(proptest::sample::select(seeds.to_vec()), changes()), |(seed, changes)| {
        all.set(all.get() + 1);
        taken.set(taken.get() + u32::from(check(&changed(seed, &changes))));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    eprintln!("{} files, {} of them taken by the reader", all.get(), taken.get());
    assert!(taken.get() > all.get() / 50, "too few files were accepted to test anything");
}

const OURS: &str = r#"{"schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": "1", "backend": "bpf",
 "observer_overhead": [{"name": "a", "ratio": 1.01, "low": 0.9, "high": 1.1, "pairs": 9}]},
 "machine": {"cpu_model": "x", "cores": 2, "load_average": [0.1, 0, 0], "governor": null, "virtualisation": "KVM"},
 "partial": false, "finish": "precise", "results": [{"command": "a b", "name": "a", "cache": "warm", "mean": 0.5,
 "stddev": 0.1, "median": 0.5, "user": 0.1, "system": 0, "min": 0.4, "max": 0.6, "times": [0.4, 0.5, 0.6],
 "memory_usage_byte": [1, 2, 3], "exit_codes": [0, null, 3], "parameters": {"n": "1"}, "context_switches": [1, 1, 2],
 "phases": {"startup": {"samples": [1, 2, 3]}, "setup": {"samples": [1, 2, 3]}, "write": {"samples": [1, 2, 3]},
 "teardown": {"samples": [1, 2, 3]}, "first_byte": {"samples": [10, 20, 30]}, "total": {"samples": [11, 22, 33]}},
 "counts": {"syscalls": 30, "page_faults": 90, "max_rss": 1048576, "instructions": 150000},
 "varying": {"page_faults": [89, 91]}, "output": {"bytes": 12, "ok": true}, "lost_events": 0,
 "rejected": [{"run": 1, "reason": "x"}], "file_size": 99, "floor_ratio": {"floor": "f", "of": "first_byte",
 "ratio": 1, "low": 1, "high": 1, "pairs": 3}, "relative": [{"reference": "b", "of": "total", "ratio": 1, "low": 1,
 "high": 1, "pairs": 3, "verdict": "cant_tell"}], "above": [{"baseline": "b", "of": "total", "median": 1, "low": 0,
 "high": 2}], "cold": {"method": "copies", "files": 2, "bytes": 9, "resident_pages": 0, "major_faults": [1],
 "bytes_from_disk": [4096], "left_warm": ["/x"], "doubt": "z"}, "uncounted": "y", "plan": {"output": "pipe",
 "cpus": [0, 1], "until": {"text": "t"}, "input": true, "shell": null, "env_offset": false}}], "failed": [{"name": "c", "command": "c", "cache": "cold", "reason": "x", "runs": 4}],
 "skipped": [{"name": "d", "reason": "x", "install": "y"}], "warnings": [{"message": "m", "help": "h"}]}"#;

const HYPERFINE: &str = r#"{"results": [{"command": "sleep 0.01", "mean": 0.0105, "stddev": 0.0001, "median": 0.0104,
 "user": 0.0006, "system": 0.0005, "min": 0.0102, "max": 0.0109, "times": [0.0102, 0.0104, 0.0109],
 "memory_usage_byte": [3723264, 3723264, 3723264], "exit_codes": [0, 0, 0], "parameters": {"t": "0.01"}}]}"#;

const BUDGETS: &str = "# budgets\n[[program]]\ncommand = \"sh -c 'echo é'\"\nname = 'a'\nshell = true\n\
    first_byte = \"400us\"\ntotal = { max = \"5ms\", tolerance = \"5%\" }\nsyscalls = 30\nrss = \"2MiB\"\n\n\
    [[program]]\ncommand = 'b'\nbytes_read = '3 KiB'\ninstructions = { max = 150000, tolerance = \"1%\" }\n";

/// Draws, writes and reads again every document that the reader accepts.
fn document_survives(text: &str) -> bool {
    let path = Path::new("fuzz.json");
    let Ok(document) = read::parse(text, path) else { return false };
    let written = json::render(&document);
    let again = read::parse(&written, path).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(json::render(&again), written, "it changed in a round trip");
    draw(&document);
    if let Ok(comparing) = compare((path, &document), (path, &again)) {
        assert!(comparing.differing.is_empty(), "a file does not differ from itself: {written}");
        assert!(comparing.slower_than(0.0).is_empty(), "a file is not slower than itself: {written}");
        let text = compare_text::render(
            &comparing,
            Some(Gate { limit: 0.05, ignore_failure: false }),
            &Terminal { width: 80, ..Terminal::default() },
        );
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    true
}

fn draw(document: &Document) {
    for width in [1, 80] {
        let terminal = Terminal { width, ..Terminal::default() };
        let page = bench_text::render(document, &terminal);
        assert!(!page.contains('\u{1b}'), "{page}");
        showdown_text::render(document, &terminal);
    }
    for export in [csv::render, markdown::render, asciidoc::render, bencher::render, benchmark_action::render]
    {
        export(document);
    }
}

fn budgets_survive(text: &str) -> bool {
    match budget_file::parse(text, Path::new("fuzz.toml")) {
        Ok(file) => {
            let named =
                |p: &budget_file::ProgramBudget| !p.label().trim().is_empty() && !p.command.trim().is_empty();
            assert!(file.programs.iter().all(named), "a program without a label: {text}");
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("\nhelp: "), "{error}");
            false
        }
    }
}

#[test]
fn nearly_right_documents_are_refused_or_survive_every_use() {
    fuzz(&[OURS, HYPERFINE], document_survives);
}

#[test]
fn nearly_right_budgets_are_refused_with_a_help_line_or_accepted() {
    fuzz(&[BUDGETS], budgets_survive);
}

/// `make fuzz` builds with `--locked`: a dependency that the lock file of `fuzz/` lacks would stop it.
#[test]
fn the_lock_file_of_the_fuzz_targets_has_all_dependencies() {
    let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
    let lock: toml::Table = include_str!("../../fuzz/Cargo.lock").parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let own = packages.iter().find(|package| package["name"].as_str() == Some("firstbyte")).unwrap();
    let locked: Vec<&str> =
        own["dependencies"].as_array().unwrap().iter().filter_map(toml::Value::as_str).collect();

    let is_used = |value: &toml::Value| value.get("optional").is_none();
    let used = manifest["dependencies"].as_table().unwrap().iter().filter(|(_, value)| is_used(value));
    for (name, _) in used {
        let is_locked = locked.iter().any(|entry| entry.split(' ').next() == Some(name));
        assert!(
            is_locked,
            "`{name}` is missing in fuzz/Cargo.lock\nhelp: cargo update --workspace --manifest-path fuzz/Cargo.toml"
        );
    }
}
