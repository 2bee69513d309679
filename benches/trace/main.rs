//! The cost of a full trace for its tracee: `cargo bench --bench trace [-- RUNS]`.
//!
//! For each program that this machine has: the time from launch to reaping under `firstbyte trace` over the untraced time,
//! in short alternating blocks; the same with the observer overhead subtracted by the calibration; and the time under
//! `strace -f`. Prints a table, and for each program one line of JSON with the raw wall times. Run it on an idle machine.
//!
//! All programs get a clean environment. cargo's own contains `LD_LIBRARY_PATH`, with which the loader makes four times as
//! many system calls.
//!
//! `cargo bench --bench trace -- classes` traces each class of program once with every backend, and prints whether the
//! account is complete: the main thread's spans against the total, and lost events.

mod classes;

use firstbyte_measure::launch::Environment;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const RUNS: &str = "60";
const SOURCE: &str = "#include <stdio.h>\nint main(void) { printf(\"hello world\\n\"); return 0; }\n";
const GO: &str = "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello world\") }\n";

fn main() {
    let runs =
        std::env::args().nth(1).filter(|n| n.parse::<u32>().is_ok()).unwrap_or_else(|| RUNS.to_owned());
    let folder = tempfile::tempdir().expect("a temporary folder");
    if std::env::args().any(|argument| argument == "classes") {
        return classes::print(folder.path());
    }
    println!(
        "{:<12}{:>12}{:>12}{:>8}  {:<16}{:>9}{:>10}",
        "program", "untraced", "traced", "ratio", "95 % interval", "corrected", "strace -f"
    );
    for (name, words) in programs(folder.path()) {
        match measured(&words, &runs) {
            Some(result) => row(name, &words, &result),
            None => println!("{name:<12}skipped: it cannot be traced here"),
        }
    }
}

fn programs(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let _ = std::fs::write(folder.join("c.c"), SOURCE);
    let _ = std::fs::write(folder.join("go.go"), GO);
    let quiet = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let mut all = Vec::new();
    if quiet(Command::new("cc").args(["-O2", "-o", &path("c"), &path("c.c")])) {
        all.push(("c-printf", vec![path("c")]));
    }
    if quiet(Command::new("go").args(["build", "-o", &path("go"), &path("go.go")])) {
        all.push(("go", vec![path("go")]));
    }
    for (name, flag, code) in [
        ("python3", "-c", "print('hello world')"),
        ("ruby", "-e", "puts 'hello world'"),
        ("node", "-e", "console.log('hello world')"),
    ] {
        let program = interpreter(name);
        if quiet(Command::new(&program).args([flag, code])) {
            all.push((name, vec![program, flag.to_owned(), code.to_owned()]));
        }
    }
    all
}

/// The path of an interpreter: it need not be on the `PATH` of a clean environment. Of Python, not a version manager's
/// wrapper.
fn interpreter(name: &str) -> String {
    let asked = match name {
        "python3" => Command::new(name).args(["-c", "import sys; print(sys.executable)"]).output(),
        _ => Command::new("sh").args(["-c", &format!("command -v {name}")]).output(),
    };
    let path =
        asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if path.is_empty() { name.to_owned() } else { path }
}

fn measured(words: &[String], runs: &str) -> Option<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    let output = command
        .args(["trace", "-r", runs, "--clean-env", "--export-json", "-", "--"])
        .args(words)
        .output()
        .ok()?;
    let document: Value = serde_json::from_slice(&output.stdout).ok()?;
    let mut result = document["results"][0].clone();
    result["overhead"] = document["tool"]["observer_overhead"][0].clone();
    Some(result)
}

fn row(name: &str, words: &[String], result: &Value) {
    let median = |field: &str| -> f64 {
        let walls = result[field].as_array().map(Vec::as_slice).unwrap_or_default();
        middle(walls.iter().filter_map(Value::as_f64).collect())
    };
    let (traced, untraced) = (median("times"), median("untraced_times"));
    let removed = result["recorded_total_ns"].as_f64().unwrap_or_default()
        - result["corrected_total_ns"].as_f64().unwrap_or_default();
    let overhead = |field: &str| result["overhead"][field].as_f64().unwrap_or(f64::NAN);
    let corrected = overhead("ratio") - removed / 1e9 / untraced;
    let strace = strace(words).map_or_else(|| "-".to_owned(), |wall| format!("{:.2}", wall / untraced));
    let interval = format!("{:.3} to {:.3}", overhead("low"), overhead("high"));
    println!(
        "{name:<12}{:>9.0} us{:>9.0} us{:>8.3}  {interval:<16}{corrected:>9.3}{strace:>10}",
        untraced * 1e6,
        traced * 1e6,
        overhead("ratio")
    );
    println!(
        "{}",
        serde_json::json!({
            "program": name, "traced": result["times"], "untraced": result["untraced_times"],
            "overhead": result["overhead"], "lost_events": result["lost_events"], "counts": result["counts"],
        })
    );
}

/// The median wall time of ten runs under `strace -f -o /dev/null`, in seconds, including strace's own start-up.
fn strace(words: &[String]) -> Option<f64> {
    let mut walls = Vec::new();
    for _ in 0..10 {
        let began = Instant::now();
        let mut command = Command::new("strace");
        command.args(["-f", "-o", "/dev/null"]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command.env_clear().envs(Environment::clean().variables());
        command.status().ok().filter(std::process::ExitStatus::success)?;
        walls.push(began.elapsed().as_secs_f64());
    }
    Some(middle(walls))
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
