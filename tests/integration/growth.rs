//! Programs of many thousand threads and processes. They take each backend about as long as they take alone, for each of
//! them; where a look at one needed a look at all, these tests would not end.

use super::support::skipped;
use super::tracees::built;
use serde_json::Value;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

const MANY: u64 = 20_000;

/// The kernel has 32,768 process IDs by default: two of the largest programs at once do not fit.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Each process of a recording is analysed, too, and that without optimisation in this build.
const EXPLAINED: u64 = 1_500;

/// At the lowest priority, so that the tests beside it have the processors.
fn firstbyte(words: &[&str]) -> Output {
    Command::new("nice").args(["-n", "19", env!("CARGO_BIN_EXE_firstbyte")]).args(words).output().unwrap()
}

/// The JSON of one run of the program; `None`, reported as skipped, if it cannot be made here.
fn run(command: &[&str], kind: &str, count: u64) -> Option<Value> {
    let program = built("many.c")?;
    if room_for_tasks() < 3 * count / 2 {
        skipped(&format!("no room for {count} more tasks on this machine"));
        return None;
    }
    let _room = (count == MANY).then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner));
    let program = program.to_str().unwrap();
    let count = count.to_string();
    let line = format!("{program} {kind} {count}");
    let words: Vec<&str> = match command[0] {
        "bench" => [command, &[line.as_str()]].concat(),
        _ => [command, &["--", program, kind, &count]].concat(),
    };
    let output = firstbyte(&words);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("the `bpf` backend does not work here") {
        skipped("the bpf backend does not work here");
        return None;
    }
    // why a program failed stands in the document
    assert!(output.status.success(), "{words:?}: {errors}{}", String::from_utf8_lossy(&output.stdout));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// How many tasks the machine and our user may still have.
fn room_for_tasks() -> u64 {
    let limit =
        |file: &str| std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let machine = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"].map(limit);
    let ours = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
    machine.into_iter().flatten().chain(ours).min().unwrap_or(u64::MAX)
}

fn bench(backend: &str, kind: &str, count: u64) -> Option<Value> {
    let once = ["bench", "--backend", backend, "--runs", "1", "--warmup", "0", "--no-counts", "--json"];
    Some(run(&once, kind, count)?["results"][0].clone())
}

#[test]
fn each_of_many_threads_and_processes_is_seen_by_bpf() {
    let Some(threads) = bench("bpf", "threads", MANY) else { return };
    assert_eq!(threads["counts"]["threads"], MANY + 1, "{threads}");
    let Some(processes) = bench("bpf", "processes", MANY) else { return };
    assert_eq!(processes["counts"]["processes"], MANY + 1, "{processes}");
}

#[test]
fn each_of_many_threads_and_processes_is_seen_by_ptrace() {
    let Some(threads) = bench("ptrace", "threads", MANY) else { return };
    assert_eq!(threads["counts"]["threads"], MANY + 1, "{threads}");
    let Some(processes) = bench("ptrace", "processes", MANY) else { return };
    assert_eq!(processes["counts"]["processes"], MANY + 1, "{processes}");
}

#[test]
fn a_run_of_many_threads_and_processes_ends_by_pipe() {
    for kind in ["threads", "processes"] {
        let Some(result) = bench("pipe", kind, MANY) else { return };
        assert_eq!(result["exit_codes"], serde_json::json!([0]));
    }
}

#[test]
fn what_outlives_the_program_is_ended_however_many_processes_it_is() {
    for backend in ["bpf", "ptrace", "pipe"] {
        let once = ["bench", "--backend", backend, "--runs", "1", "--warmup", "0", "--no-counts", "--json"];
        let Some(document) = run(&once, "daemons", EXPLAINED) else { continue };
        let left: Vec<_> = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("cmdline")).ok())
            .filter(|line| line.contains("many_c\0daemons"))
            .collect();
        assert!(left.is_empty(), "{} by {backend}: {document}", left.len());
    }
}

#[test]
fn a_trace_of_many_threads_and_processes_is_explained() {
    for backend in ["bpf", "ptrace"] {
        for kind in ["threads", "processes", "turns"] {
            let trace = ["trace", "--backend", backend, "--quick", "--export-json", "-"];
            let Some(document) = run(&trace, kind, EXPLAINED) else { break };
            let result = &document["results"][0];
            let counted = if kind == "threads" { "threads" } else { "processes" };
            assert_eq!(result["counts"][counted], EXPLAINED + 1, "{kind} by {backend}");
            let sum: u64 = result["attribution"]
                .as_array()
                .unwrap()
                .iter()
                .map(|share| share["ns"].as_u64().unwrap())
                .sum();
            assert_eq!(sum, result["total_ns"], "{kind} by {backend}");
        }
    }
}

#[test]
fn a_watch_sees_the_end_of_each_of_many_processes() {
    for backend in ["bpf", "ptrace"] {
        let Some(document) = run(&["watch", "--backend", backend, "--json"], "processes", EXPLAINED) else {
            continue;
        };
        assert!(document["results"].is_array(), "by {backend}: {document}");
    }
}
