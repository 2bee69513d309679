//! `--from TEXT --to TEXT` of `firstbyte bench` and `firstbyte trace`: regions between two texts that a program prints.

use crate::bench::{exported, firstbyte, folder};
use crate::support::skipped;
use serde_json::Value;
use std::process::Command;

/// It sleeps for 20 ms between two of its texts.
const SLOW: &str = "sh -c 'echo one; echo two; sleep 0.02; echo three; sleep 0.01'";
/// It does not.
const FAST: &str = "sh -c 'echo one; echo two; echo three; sleep 0.01'";

const NAP: u64 = 20_000_000;

fn measured(arguments: &[&str]) -> Option<Value> {
    let few = ["--runs", "9", "--warmup", "1", "--no-counts"];
    let (document, status) = exported(folder().path(), &[&few[..], arguments].concat());
    assert_eq!(status, Some(0), "{document}");
    let is_by_bpf = document["tool"]["backend"] == "bpf";
    if !is_by_bpf {
        skipped("bench measures regions by bpf");
    }
    is_by_bpf.then_some(document)
}

fn samples(span: &Value) -> Vec<u64> {
    span["samples"].as_array().unwrap().iter().map(|ns| ns.as_u64().unwrap()).collect()
}

#[test]
fn a_region_lasts_from_one_text_to_the_next_and_is_what_programs_are_compared_by() {
    let Some(document) = measured(&["--from", "two", "--to", "three", FAST, SLOW]) else { return };
    let [fast, slow] = [0, 1].map(|n| &document["results"][n]["marks"]["`two` to `three`"]);
    for span in [fast, slow] {
        assert_eq!(
            (&span["kind"], &span["from"], &span["to"]),
            (&"region".into(), &"two".into(), &"three".into())
        );
        assert_eq!(samples(span).len(), 9);
    }
    assert!(samples(slow).iter().all(|ns| *ns >= NAP), "{slow}");
    assert_eq!(document["compare_by"], "region");
    let relative = document["results"][1]["relative"].as_array().unwrap();
    let region = relative.iter().find(|relative| relative["of"] == "region").unwrap();
    assert_eq!((&region["verdict"], &region["pairs"]), (&"slower".into(), &9.into()));
}

#[test]
fn without_one_of_the_texts_a_region_begins_at_the_start_or_ends_at_the_exit() {
    let Some(before) = measured(&["--to", "three", SLOW]) else { return };
    let before = &before["results"][0]["marks"]["up to `three`"];
    assert!(before["from"].is_null() && samples(before).iter().all(|ns| *ns >= NAP), "{before}");
    let Some(after) = measured(&["--from", "three", SLOW]) else { return };
    let after = &after["results"][0]["marks"]["`three` to the exit"];
    assert!(after["to"].is_null() && samples(after).iter().all(|ns| *ns >= NAP / 2), "{after}");
}

#[test]
fn a_region_that_no_run_has_says_why() {
    for (from, to, why) in [
        ("one", "four", "it does not print `four`"),
        ("three", "one", "it does not print `one`"),
        ("o", "ne", "one write has both texts (help: --output pty"),
    ] {
        let Some(document) = measured(&["--from", from, "--to", to, FAST]) else { return };
        assert!(document["results"][0].get("marks").is_none());
        let warnings = document["warnings"].as_array().unwrap();
        let message = |warning: &&Value| warning["message"].as_str().unwrap().contains(why);
        assert!(warnings.iter().any(|warning| message(&warning)), "{why}: {warnings:?}");
    }
}

#[test]
fn what_cannot_be_a_region_is_refused_before_anything_runs() {
    for (arguments, clue) in [
        (&["--from", ""][..], "the text of `--from` is empty"),
        (&["--to", "x", "--output", "null"], "--output pipe"),
        (&["--compare-by", "region"], "there is no region"),
    ] {
        let ran = firstbyte(folder().path(), &[&["bench"], arguments, &["touch ran"]].concat());
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains(clue) && said.contains("help: "), "{said}");
    }
}

#[test]
fn trace_has_the_region_in_its_text_and_in_its_document() {
    let run = |more: &[&str]| {
        let words = ["trace", "-r", "3", "--no-samples", "--no-overhead", "--from", "two", "--to", "three"];
        let program = ["sh", "-c", "echo one; echo two; sleep 0.02; echo three"];
        firstbyte(folder().path(), &[&words, more, &program].concat())
    };
    let ran = run(&["--export-json", "-"]);
    if ran.status.code() == Some(4) {
        return skipped("no backend sees every system call");
    }
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let span = &document["results"][0]["marks"]["`two` to `three`"];
    assert_eq!((&span["kind"], samples(span).len()), (&"region".into(), 3));
    assert!(samples(span).iter().all(|ns| *ns >= NAP), "{span}");
    let text = String::from_utf8(run(&[]).stdout).unwrap();
    assert!(text.contains("Marks: `two` to `three` "), "{text}");
}

#[test]
fn shares_of_phases_and_the_lines_of_strace_are_metrics() {
    let ran = firstbyte(
        folder().path(),
        &[
            "bench",
            "--runs",
            "3",
            "--no-overhead",
            "--metrics",
            "overdone",
            "--export-markdown",
            "-",
            "echo hi",
        ],
    );
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("| strace_lines | processes | setup_share | teardown_share |"), "{text}");

    let arguments = ["--runs", "3", "echo hi"];
    let (document, _) = exported(folder().path(), &arguments);
    let counts = &document["results"][0]["counts"];
    let lines = counts["syscalls"].as_u64().unwrap() + counts["threads"].as_u64().unwrap();
    assert!(text.contains(&format!("| {lines} | 1 |")), "{lines}: {text}");
    let folder = folder();
    let (file, clean) = (folder.path().join("strace"), ("LC_ALL", "C"));
    let strace =
        Command::new("strace").arg("-fo").arg(&file).args(["echo", "hi"]).env(clean.0, clean.1).output();
    if strace.is_err() {
        return skipped("there is no strace");
    }
    let mut ours = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    ours.args([
        "bench",
        "--runs",
        "3",
        "--no-overhead",
        "--export-csv",
        "-",
        "--metrics",
        "strace_lines",
        "echo hi",
    ]);
    let ours = String::from_utf8(ours.env(clean.0, clean.1).output().unwrap().stdout).unwrap();
    let median = ours.lines().nth(1).and_then(|line| line.split(',').nth(4)).unwrap();
    let strace = std::fs::read_to_string(file).unwrap();
    assert_eq!(median, strace.lines().count().to_string(), "{strace}");
}
