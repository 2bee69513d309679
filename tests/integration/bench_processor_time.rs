//! User time and processor time of `firstbyte bench`: what a parent is charged for, and what a whole tree burns.

use crate::bench::{exported, firstbyte, folder};
use crate::support::skipped;
use serde_json::Value;

const FEW: [&str; 3] = ["--runs", "9", "--warmup=1"];

/// A shell that waits for the output of a child that nobody waits for: its parent, a subshell, has exited.
const DAEMON: &str = "sh -c 'x=$( (i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo done) & ); echo $x'";

/// The same work by the shell itself.
const HONEST: &str = "sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo done'";

fn measured(arguments: &[&str]) -> Option<Value> {
    let (document, status) = exported(folder().path(), &[&FEW[..], arguments].concat());
    assert_eq!(status, Some(0), "{document}");
    let is_by_bpf = document["tool"]["backend"] == "bpf";
    if !is_by_bpf {
        skipped("only bpf sees how long user code ran");
    }
    is_by_bpf.then_some(document)
}

fn median(result: &Value, time: &str) -> f64 {
    result["processor"][time]["median"].as_f64().unwrap_or_else(|| panic!("{time}: {result}"))
}

#[test]
fn a_daemon_burns_what_its_starter_is_not_charged_for() {
    let Some(document) = measured(&[HONEST, DAEMON]) else { return };
    let [honest, daemon] = [0, 1].map(|n| &document["results"][n]);
    for result in [honest, daemon] {
        assert!(median(result, "user") <= median(result, "scored"), "{result}");
        assert!(median(result, "scored") <= median(result, "burnt"), "{result}");
    }
    assert_eq!(median(honest, "scored").to_bits(), median(honest, "burnt").to_bits(), "it is alone");
    assert!(median(daemon, "scored") < median(daemon, "burnt"), "{daemon}");

    let text = firstbyte(folder().path(), &[&["bench"], &FEW[..], &[HONEST, DAEMON]].concat());
    let text = String::from_utf8(text.stdout).unwrap();
    let lines = text.lines().filter(|line| line.trim_start().starts_with("scored "));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    assert!(words.contains(&"burnt:"), "{text}");
    assert_eq!(words.iter().filter(|word| **word == "scored").count(), 1, "only of the daemon: {text}");
}

#[test]
fn user_times_of_the_same_rounds_are_compared() {
    // far more than what one interruption can add
    let long = HONEST.replace("3000", "30000");
    let Some(document) = measured(&["--compare-by", "user", &long, "true"]) else { return };
    let (honest, idle) = (&document["results"][0], &document["results"][1]);
    let user = idle["relative"].as_array().unwrap().iter().find(|relative| relative["of"] == "user").unwrap();
    assert_eq!(user["verdict"], "faster", "{user}");
    let samples = |result: &Value| result["processor"]["user"]["samples"].as_array().unwrap().len();
    assert_eq!([samples(honest), samples(idle)], [9, 9]);
}

#[test]
fn a_time_that_nothing_divides_is_null_with_its_reason() {
    let pipe = ["--backend", "pipe"];
    let (document, _) = exported(folder().path(), &[&FEW[..], &pipe, &["true"]].concat());
    let result = &document["results"][0];
    assert!(result["user"].is_null() && result["system"].is_null() && result["cpu"].is_f64());
    let why = result["undivided"].as_str().unwrap();
    assert!(why.contains("ticks") && why.contains("--backend bpf"), "{why}");
    assert!(result["measurements"][0].get("time_user").is_none());

    let text = firstbyte(
        folder().path(),
        &[&["bench"], &FEW[..], &pipe, &["true", "--metrics", "time_user"]].concat(),
    );
    let text = String::from_utf8(text.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("time_user – (it is too short for the ticks"), "{text}");
}
