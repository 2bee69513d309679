//! `bench --until-mark` ends each run at a mark.

use super::{BACKENDS, benched, chain_sums, samples};
use crate::bench::{firstbyte, folder};
use serde_json::Value;
use std::fs;

/// It never ends by itself, and makes the mark that ends it in a child. The beginning of a span of this name is none.
const SERVER: &str = "[ -e 'MARK: read' ]; [ -e 'MARK+: ready' ]; echo before
(sleep 0.01; [ -e 'MARK: ready' ]; echo after; while :; do sleep 1; done)
";

#[test]
fn a_run_ends_at_the_mark_and_its_parts_sum_to_it() {
    for backend in BACKENDS {
        let place = folder();
        let script = place.path().join("server");
        fs::write(&script, SERVER).unwrap();
        let command = format!("sh {}", script.display());
        let Some(document) = benched(backend, &command, &["--until-mark", "ready"]) else { continue };
        let result = &document["results"][0];
        let marks = result["marks"].as_object().unwrap();
        assert_eq!(marks.keys().collect::<Vec<_>>(), ["read", "ready", "ready (span)"], "{backend}");
        let totals = samples(&result["phases"]["total"]);
        assert_eq!((totals.len(), chain_sums(result)), (4, totals.clone()), "{backend}");
        assert!(totals.iter().all(|ns| *ns >= 10_000_000), "{backend}: {totals:?}");
        assert_eq!(result["plan"]["until"], serde_json::json!({"mark": "ready"}));
        assert!(result["phases"]["first_byte"]["samples"].as_array().is_some_and(|all| all.len() == 4));
    }
}

#[test]
fn runs_that_are_counted_or_cold_end_there_too() {
    let place = folder();
    fs::write(place.path().join("server"), SERVER).unwrap();
    for backend in BACKENDS {
        for cache in ["warm", "cold"] {
            let words = ["bench", "--runs", "2", "--until-mark", "ready", "--timeout", "20s"];
            let more = ["--backend", backend, "--cache", cache, "--export-json", "-", "sh server"];
            let ran = firstbyte(place.path(), &[&words[..], &more].concat());
            if ran.status.code() == Some(4) {
                crate::support::skipped(&format!("{backend}, {cache}"));
                continue;
            }
            let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
            let result = &document["results"][0];
            assert_eq!(ran.status.code(), Some(0), "{backend} {cache}: {document}");
            assert!(result["counts"]["syscalls"].as_u64().is_some_and(|count| count > 10), "{document}");
            assert!(
                result["phases"]["total"]["max"].as_f64().unwrap() < 1e10,
                "none ran into its time limit"
            );
        }
    }
}

#[test]
fn a_program_that_ends_without_the_mark_is_no_sample() {
    for backend in BACKENDS {
        let Some(document) = benched(backend, "sh -c 'echo x'", &["--until-mark", "ready"]) else { continue };
        assert!(document["results"].as_array().unwrap().is_empty(), "{document}");
        let failed = document["failed"].to_string();
        assert!(failed.contains("it ended before it made the mark `ready`"), "{failed}");
    }
}

/// It says that it is ready after 10 ms, and never ends.
const SERVICE: &str = "import os, socket, time
said = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
address = os.environ['NOTIFY_SOCKET']
said.connect('\\0' + address[1:] if address[0] == '@' else address)
said.send(b'STATUS=starting')
time.sleep(0.01)
said.send(b'READY=1\\nSTATUS=up')
time.sleep(60)
";

#[test]
fn a_service_says_itself_that_it_is_ready() {
    for backend in ["bpf", "ptrace", "pipe"] {
        let place = folder();
        fs::write(place.path().join("service"), SERVICE).unwrap();
        let command = format!("/usr/bin/python3 {}", place.path().join("service").display());
        let Some(document) = benched(backend, &command, &["--until-ready", "--timeout", "20s"]) else {
            continue;
        };
        let result = &document["results"][0];
        let times: Vec<f64> =
            result["times"].as_array().unwrap().iter().map(|s| s.as_f64().unwrap()).collect();
        assert_eq!(times.len(), 4, "{backend}: {document}");
        assert!(times.iter().all(|seconds| (0.01..10.0).contains(seconds)), "{backend}: {times:?}");
        assert_eq!(result["plan"]["until"], "ready");
        let failed = benched(backend, "sh -c 'echo x'", &["--until-ready"]).unwrap();
        assert!(failed["failed"].to_string().contains("it ended before it said READY=1"), "{failed}");
    }
}

#[test]
fn what_sees_no_marks_is_refused_before_anything_runs() {
    for (arguments, clue) in [
        (&["--until-mark", " "][..], "the name of `--until-mark` is empty"),
        (&["--until-mark", "x", "--backend", "pipe"], "--backend ptrace"),
        (&["--until-mark", "x", "--compare-by", "user"], "--compare-by total"),
        (&["--until-mark", "x", "--to", "y"], "cannot be used with"),
    ] {
        let place = folder();
        let ran = firstbyte(place.path(), &[&["bench"], arguments, &["touch ran"]].concat());
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains(clue) && !place.path().join("ran").exists(), "{said}");
    }
}
