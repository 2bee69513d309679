//! Marks: phases that programs name themselves, on each backend that sees them.

mod languages;
mod shown;
mod truth;
mod until;
mod watch;

use crate::bench::{exported, firstbyte, folder};
use crate::support::skipped;
use crate::tracees::built;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const BACKENDS: [&str; 2] = ["bpf", "ptrace"];
const NAP: u64 = 5_000_000;

/// One for all tests: a new one compiles Go's library.
fn go_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache")
}

fn tracee() -> Option<String> {
    built("marks.c").map(|path| path.display().to_string())
}

/// The result of a traced run; `None`, reported as skipped, where the backend does not work.
fn traced(backend: &str, command: &[&str], more: &[&str]) -> Option<Value> {
    let words = ["trace", "-r", "1", "--no-samples", "--no-overhead", "--no-runtimes", "--ignore-failure"];
    let export = ["--backend", backend, "--export-json", "-"];
    let ran = firstbyte(folder().path(), &[&words, &export[..], more, command].concat());
    if ran.status.code() == Some(4) {
        skipped(&format!("{backend}: {}", String::from_utf8_lossy(&ran.stderr)));
        return None;
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{said}"));
    Some(document["results"][0].clone())
}

/// The result of a bench; `None`, reported as skipped, where the backend does not work.
fn benched(backend: &str, command: &str, more: &[&str]) -> Option<Value> {
    let words = ["bench", "--runs", "4", "--warmup", "1", "--no-counts", "--no-overhead", "--ignore-failure"];
    let export = ["--backend", backend, "--export-json", "-"];
    let ran = firstbyte(folder().path(), &[&words, &export[..], more, &[command]].concat());
    if ran.status.code() == Some(4) {
        skipped(&format!("{backend}: {}", String::from_utf8_lossy(&ran.stderr)));
        return None;
    }
    Some(serde_json::from_slice(&ran.stdout).unwrap())
}

/// Name, kind, beginning and end of the parts of the run that is shown, in the order of their beginnings.
fn places(result: &Value) -> Vec<(String, String, u64, u64)> {
    let mut all = Vec::new();
    for (name, span) in result["marks"].as_object().into_iter().flatten() {
        for place in span["places"].as_array().into_iter().flatten() {
            let at = |end: &str| place[end].as_u64().unwrap();
            all.push((name.clone(), span["kind"].as_str().unwrap().to_owned(), at("from_ns"), at("to_ns")));
        }
    }
    all.sort_by_key(|(_, _, from, to)| (*from, *to));
    all
}

fn chain(result: &Value) -> Vec<(String, u64, u64)> {
    let all = places(result).into_iter().filter(|(_, kind, ..)| kind == "mark");
    all.map(|(name, _, from, to)| (name, from, to)).collect()
}

fn samples(span: &Value) -> Vec<u64> {
    span["samples"].as_array().unwrap().iter().map(|ns| ns.as_u64().unwrap()).collect()
}

/// What the parts between plain marks take, run by run.
fn chain_sums(result: &Value) -> Vec<u64> {
    let mut sums = Vec::new();
    for (_, span) in result["marks"].as_object().unwrap().iter().filter(|(_, span)| span["kind"] == "mark") {
        let times = samples(span);
        sums.resize(times.len(), 0);
        sums.iter_mut().zip(times).for_each(|(sum, ns)| *sum += ns);
    }
    sums
}

#[test]
fn spans_nest_and_one_that_is_killed_says_that_it_has_no_end() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let Some(result) = traced(backend, &[&tracee, "nested"], &[]) else { continue };
        let all: BTreeMap<String, (u64, u64)> =
            places(&result).into_iter().map(|(name, _, from, to)| (name, (from, to))).collect();
        let ([outer, part, child], open) = (["all", "part", "child"].map(|name| all[name]), all["open"]);
        assert!(outer.0 <= part.0 && part.1 <= child.0 && child.1 <= outer.1, "{backend}: {all:?}");
        assert!(part.1 - part.0 >= NAP && child.1 - child.0 >= NAP, "{backend}: {all:?}");
        assert_eq!(open.1, result["total_ns"].as_u64().unwrap());
        let unended = |name: &str| result["marks"][name]["unended"] == true;
        assert_eq!(["all", "part", "child", "open"].map(unended), [false, false, true, true], "{backend}");
        assert_eq!(result["marks"].as_object().unwrap().len(), 4, "one that has not begun is none");

        let Some(document) = benched(backend, &format!("{tracee} nested"), &[]) else { continue };
        let marks = document["results"][0]["marks"].as_object().unwrap().clone();
        assert_eq!(marks.keys().collect::<Vec<_>>(), ["all", "child", "open", "part"], "{backend}");
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains("1 of its marks end a span that has not begun"), "{warnings}");
    }
}

#[test]
fn only_lookups_that_fail_are_marks() {
    let Some(tracee) = tracee() else { return };
    let of = |result: &Value| {
        let chain = result["marks"].as_object().unwrap();
        let mut names: Vec<String> = chain.keys().cloned().collect();
        names.retain(|name| name != "statx"); // the call has another number elsewhere
        names
    };
    for backend in BACKENDS {
        let Some(result) = traced(backend, &[&tracee, "lookups"], &[]) else { continue };
        assert_eq!(of(&result), ["(rest)", "faccessat", "open"], "{backend}");
        let Some(document) = benched(backend, &format!("{tracee} lookups"), &[]) else { continue };
        assert_eq!(of(&document["results"][0]), ["(rest)", "faccessat", "open"], "{backend}");
    }
}

#[test]
fn names_are_data_and_the_same_on_each_backend_and_in_each_mode() {
    let Some(tracee) = tracee() else { return };
    let mut seen = Vec::new();
    for backend in BACKENDS {
        let Some(result) = traced(backend, &[&tracee, "hostile"], &[]) else { continue };
        seen.push(result["marks"].as_object().unwrap().keys().cloned().collect::<Vec<_>>());
        let Some(document) = benched(backend, &format!("{tracee} hostile"), &[]) else { continue };
        seen.push(document["results"][0]["marks"].as_object().unwrap().keys().cloned().collect());
    }
    let Some(first) = seen.first() else { return };
    assert!(seen.iter().all(|names| names == first), "{seen:?}");
    let mut expected = vec![
        "\u{fffd}\u{fffd}\u{fffd}".to_owned(),
        "two\nlines\u{1b}[31m".to_owned(),
        "\u{202e}<b>&amp;</b>".to_owned(),
        format!("{}…", "x".repeat(200)),
        format!("{}…", "€".repeat(66)),
        "(rest)".to_owned(),
    ];
    expected.sort();
    assert_eq!(*first, expected);
}

#[test]
fn more_names_than_64_are_counted_together() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let Some(document) = benched(backend, &format!("{tracee} many 70 70"), &[]) else { continue };
        let result = &document["results"][0];
        assert_eq!(result["marks"].as_object().unwrap().len(), 66, "64 names, the others, the rest");
        assert_eq!(result["marks"]["(other marks)"]["count"], 6, "{backend}");
        assert_eq!(chain_sums(result), samples(&result["phases"]["total"]), "{backend}");
        assert!(document["warnings"].to_string().contains("come after the first 64 names"));
    }
}

/// How many marks a run makes by a backend, and whether none of them may be lost: the kernel's buffer has room for ten
/// thousand, and a program that ptrace stops waits.
const MANY: [(&str, u64, bool); 3] =
    [("bpf", 10_000, true), ("bpf", 1_000_000, false), ("ptrace", 30_000, true)];

#[test]
fn a_million_marks_are_counted_exactly_or_some_are_said_to_be_lost() {
    let Some(tracee) = tracee() else { return };
    for (backend, marks, is_whole) in MANY {
        let words = ["--runs", "1", "--marks", "--no-counts", "--backend", backend];
        let command = format!("{tracee} many {marks} 3");
        let (document, status) = exported(folder().path(), &[&words[..], &[&command]].concat());
        if status == Some(4) {
            skipped(backend);
            continue;
        }
        let result = &document["results"][0];
        let Some(found) = result["marks"].as_object() else {
            let failed = &document["failed"][0];
            let reason = failed["reason"].as_str().unwrap();
            let lost = reason.split(' ').next().unwrap().parse::<u64>().unwrap();
            assert!(!is_whole && status == Some(3), "{backend}, {marks}: {document}");
            assert!(reason.contains("events were lost") && (1..marks).contains(&lost), "{reason}");
            continue;
        };
        let counts = ["0", "1", "2"].map(|name| found[name]["count"].as_u64().unwrap());
        assert_eq!(counts, [0, 1, 2].map(|n| (marks + 2 - n) / 3), "{backend}");
        assert_eq!(chain_sums(result), samples(&result["phases"]["total"]), "{backend}");
        assert_eq!(result["lost_events"], 0);
    }
}

#[test]
fn only_where_the_first_run_has_marks_are_they_looked_for_unless_asked() {
    let Some(tracee) = tracee() else { return };
    let place = folder();
    // the first run makes none
    let script = format!("sh -c 'if [ -e ran ]; then exec {tracee} plain; fi; touch ran; echo'");
    for (backend, more, has_marks) in [
        ("bpf", &[][..], false),
        ("bpf", &["--marks"], true),
        ("ptrace", &[], false),
        ("ptrace", &["--marks"], true),
    ] {
        let _ = fs::remove_file(place.path().join("ran"));
        let words = ["bench", "--runs", "3", "--warmup", "1", "--no-counts", "--no-overhead"];
        let export = ["--backend", backend, "--export-json", "-"];
        let ran = firstbyte(place.path(), &[&words, &export[..], more, &[&script]].concat());
        if ran.status.code() == Some(4) {
            skipped(backend);
            continue;
        }
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(document["results"][0].get("marks").is_some(), has_marks, "{backend} {more:?}");
    }
}

#[test]
fn the_pipe_backend_says_why_there_are_none() {
    let Some(document) = benched("pipe", "true", &["--marks"]) else { return };
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("the pipe backend attaches nothing"), "{warnings}");
    assert!(document["results"][0].get("marks").is_none());
}
