//! `firstbyte compare`: exit statuses, and invalid files.

use crate::bench::firstbyte;
use firstbyte::document::read::parse;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A document as hyperfine writes it.
fn hyperfine(name: &str, around: f64) -> Value {
    let times: Vec<f64> = (0..40).map(|n| around * (1.0 + 0.0002 * f64::from(n))).collect();
    json!({"results": [{"command": name, "mean": around, "stddev": 0.001, "median": around, "user": 0.0,
        "system": 0.0, "min": around, "max": around, "times": times, "exit_codes": vec![0; 40]}]})
}

fn ours(name: &str, around: f64, cpu: &str) -> Value {
    let mut document = hyperfine(name, around);
    document["schema"] = "firstbyte/1".into();
    document["tool"] = json!({"name": "firstbyte", "backend": "bpf"});
    document["machine"] = json!({"cpu_model": cpu, "cores": 2});
    document["results"][0]["counts"] = json!({"syscalls": 30});
    document
}

fn compared(old: &Value, new: &Value, options: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.json"), old.to_string()).unwrap();
    fs::write(folder.path().join("new.json"), new.to_string()).unwrap();
    let output = firstbyte(folder.path(), &[&["compare", "old.json", "new.json"], options].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_file_compared_with_itself_gives_cant_tell_and_passes_the_gate() {
    let file = ours("a", 1.0, "Fast");
    let (status, text, _) = compared(&file, &file, &["--fail-if-slower", "0%"]);
    assert_eq!(status, Some(0));
    assert!(text.contains("can't tell, 1.000 ×") && text.contains("unchanged     syscalls"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not changes between the two"), "{text}");
    assert!(words.contains("firstbyte bench OLD NEW"), "{text}");
}

#[test]
fn the_gate_exits_with_1_only_beyond_its_limit() {
    let (old, new) = (hyperfine("a", 1.0), hyperfine("a", 1.10));
    assert_eq!(compared(&old, &new, &[]).0, Some(0));
    assert_eq!(compared(&old, &new, &["--fail-if-slower", "5%"]).0, Some(1));
    assert_eq!(compared(&old, &new, &["--fail-if-slower", "15%"]).0, Some(0));
    assert_eq!(compared(&new, &old, &["--fail-if-slower", "5%"]).0, Some(0));
}

#[test]
fn runs_that_failed_pass_the_gate_only_if_this_is_ignored() {
    let (old, mut new) = (hyperfine("a", 1.0), hyperfine("a", 0.026));
    new["results"][0]["exit_codes"] = json!(vec![127; 40]);
    let (status, text, _) = compared(&old, &new, &["--fail-if-slower", "5%"]);
    assert_eq!(status, Some(3), "{text}");
    assert!(text.contains("can't tell, 0.026 ×") && text.contains("every run failed (status 127)"), "{text}");
    assert!(text.contains("Not compared\n  `a`: its runs failed"), "{text}");
    let (status, text, _) = compared(&old, &new, &["--fail-if-slower", "5%", "--ignore-failure"]);
    assert_eq!(status, Some(0), "{text}");
}

#[test]
fn different_machines_are_refused_with_their_differences_unless_forced() {
    let (old, new) = (ours("a", 1.0, "Fast"), ours("a", 1.0, "Slow"));
    let (status, _, said) = compared(&old, &new, &[]);
    assert_eq!(status, Some(2));
    assert!(said.contains("cpu_model `Fast` and `Slow`") && said.contains("--force"), "{said}");
    assert_eq!(compared(&old, &new, &["--force"]).0, Some(0));
}

#[test]
fn the_json_agrees_with_the_text() {
    let (_, text, _) = compared(&ours("a", 1.0, "x"), &ours("a", 1.2, "x"), &["--json"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["programs"][0]["times"][0]["verdict"], "slower");
    assert_eq!(
        json["programs"][0]["counts"][0],
        json!({"name": "syscalls", "old": 30, "new": 30, "varies": false})
    );
}

#[test]
fn bad_files_are_reported_with_status_2() {
    let good = hyperfine("a", 1.0);
    let mut twice = good.clone();
    twice["results"] = json!([good["results"][0], good["results"][0]]);
    let mut newer = ours("a", 1.0, "x");
    newer["schema"] = "firstbyte/2".into();
    for bad in [json!({"results": []}), twice, newer, json!({"schema": "other"}), json!(7)] {
        let (status, _, said) = compared(&good, &bad, &[]);
        assert_eq!(status, Some(2), "{bad}");
        assert!(said.contains("`new.json`") && said.contains("\nhelp: "), "{said}");
    }
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let seed = ours("a", 1.0, "x").to_string();
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..2000 {
        let mut bytes = seed.as_bytes().to_vec();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(..bytes.len());
            match random.u8(..4) {
                0 => bytes[at] = random.u8(..),
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, random.u8(..128)),
                _ => bytes.splice(at..at, *b"1e999").for_each(drop),
            }
        }
        let _ = parse(&String::from_utf8_lossy(&bytes), Path::new("x"));
    }
}

#[test]
fn a_program_that_has_vanished_does_not_pass_a_gate() {
    let mut old = ours("a", 1.0, "x");
    old["results"].as_array_mut().unwrap().push(ours("b", 1.0, "x")["results"][0].clone());
    let new = ours("a", 1.0, "x");
    assert_eq!(compared(&old, &new, &["--fail-if-slower", "5%"]).0, Some(3));
    assert_eq!(compared(&old, &new, &[]).0, Some(0), "without a gate it is only reported");
}

/// The file that a measurement of `echo` with these options exports.
fn exported(folder: &Path, name: &str, options: &[&str]) -> Value {
    let fixed =
        ["bench", "--backend", "pipe", "--runs", "2", "--no-counts", "--export-json", name, "echo hi"];
    let output = firstbyte(folder, &[&fixed[..], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn results_are_matched_by_name_and_parameters_also_with_files_of_older_versions() {
    let folder = tempfile::tempdir().unwrap();
    let values = |values| ["-n", "build", "-L", "n", values];
    let mut old = exported(folder.path(), "old.json", &values("1,2"));
    for result in old["results"].as_array_mut().unwrap() {
        result["command"] = result.as_object_mut().unwrap().remove("command_line").unwrap();
    }
    let new = exported(folder.path(), "new.json", &values("2,1"));
    let (status, json, said) = compared(&old, &new, &["--json"]);
    assert_eq!(status, Some(0), "{said}");
    let json: Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&Value> = json["programs"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["build (n = 2)", "build (n = 1)"]);
}

#[test]
fn measurements_with_different_options_are_refused_with_those_options_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("input"), "x").unwrap();
    let plain = exported(folder.path(), "plain.json", &[]);
    let bare = json!({"output": "pipe", "cpus": null, "until": null, "input": false, "shell": null,
                      "placement": "any", "env_offset": false, "variables": {}});
    assert_eq!(plain["results"][0]["plan"], bare);
    let table: [(&[&str], &str); 6] = [
        (&["--output", "null"], "output `pipe` and `null`"),
        (&["--cpus", "0"], "cpus none and [0]"),
        (&["--until", "hi"], "until none and {\"text\":\"hi\"}"),
        (&["--input", "input"], "input false and true"),
        (&["-S"], "shell none and `/bin/sh`"),
        (&["--env-offset"], "env_offset false and true"),
    ];
    for (options, fact) in table {
        exported(folder.path(), "other.json", options);
        let refused = firstbyte(folder.path(), &["compare", "plain.json", "other.json"]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{options:?}");
        assert!(said.contains(&format!(": {fact}\nhelp: ")) && said.contains("--force"), "{said}");
        let forced = firstbyte(folder.path(), &["compare", "plain.json", "other.json", "--force"]);
        assert_eq!(forced.status.code(), Some(0));
        let text: String = String::from_utf8_lossy(&forced.stdout).split_whitespace().collect();
        let named: String = fact.split_whitespace().collect();
        assert!(text.contains(&named), "{text}");
    }
    let mut before = plain;
    before["results"][0].as_object_mut().unwrap().remove("plan");
    fs::write(folder.path().join("before.json"), before.to_string()).unwrap();
    let readable = firstbyte(folder.path(), &["compare", "before.json", "other.json"]);
    assert_eq!(readable.status.code(), Some(0), "{}", String::from_utf8_lossy(&readable.stderr));
}

fn with_times(name: &str, times: &[f64]) -> Value {
    let mut file = hyperfine(name, 1.0);
    file["results"][0]["times"] = json!(times);
    file
}

#[test]
fn a_program_with_meaningless_times_does_not_pass_a_gate() {
    let good = hyperfine("a", 1.0);
    for times in [&[][..], &[0.0; 9], &[1.0, -1.0], &[1e308; 9]] {
        let bad = with_times("a", times);
        let (status, text, _) = compared(&good, &bad, &["--fail-if-slower", "5%"]);
        assert_eq!(status, Some(3), "{times:?}: {text}");
        assert!(text.contains("no times to compare") && !text.contains("Nothing is slower"), "{text}");
        assert_eq!(compared(&bad, &good, &["--fail-if-slower", "5%"]).0, Some(3), "{times:?}");
        assert_eq!(compared(&good, &bad, &[]).0, Some(0), "without a gate it is only reported");
    }
}

#[test]
fn too_few_runs_are_reported_and_do_not_fail_a_gate() {
    let (old, new) = (with_times("a", &[1.0]), with_times("a", &[9.0]));
    let (status, text, _) = compared(&old, &new, &["--fail-if-slower", "5%"]);
    assert_eq!(status, Some(0));
    assert!(text.contains("can't tell: too few runs"), "{text}");
}

#[test]
fn a_file_whose_only_program_failed_says_why() {
    let mut failed = ours("a", 1.0, "x");
    failed["results"] = json!([]);
    failed["failed"] =
        json!([{"name": "a", "command": "a", "cache": null, "reason": "it crashed", "runs": 4}]);
    let (status, _, said) = compared(&ours("a", 1.0, "x"), &failed, &["--fail-if-slower", "5%"]);
    assert_eq!(status, Some(2));
    assert!(said.contains("`new.json` has no results: `a` failed: it crashed\nhelp: "), "{said}");
}
