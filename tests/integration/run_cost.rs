//! What one run of `bench` costs us, in system calls and page faults. The counter is our own tracer.
//!
//! A run that needs one call more fails here, before a benchmark can show it. Lower the bounds when a run becomes cheaper.

use super::trace::result;
use serde_json::Value;

/// By backend: the system calls and the page faults of a run of the smallest program. This includes three calls of the program
/// (execve, write, exit), five of the child before its exec, and in this build four or five of debug assertions, which ask
/// with `fcntl` whether a descriptor that is closed is open.
const BOUNDS: [(&str, u64, u64); 3] = [("bpf", 27, 2), ("ptrace", 97, 2), ("pipe", 34, 2)];

const RUNS: [u64; 2] = [64, 192];

#[test]
fn a_run_needs_no_more_system_calls_and_page_faults_than_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("hello");
    let program = program.to_str().unwrap();
    let firstbyte = env!("CARGO_BIN_EXE_firstbyte");
    let made =
        std::process::Command::new(firstbyte).args(["elf", "--message", "hello", "-o", program]).status();
    assert!(made.unwrap().success());

    for (backend, calls, faults) in BOUNDS {
        let counted = |runs: u64| {
            let runs = runs.to_string();
            let bench = [firstbyte, "bench", "-N", "--backend", backend, "--runs", &runs, "--warmup", "0"];
            let words = [&["--backend", "bpf", "--runs", "1", "--"], &bench[..], &["--no-counts", program]];
            result(&words.concat())
        };
        let [Some(few), Some(many)] = RUNS.map(counted) else { return };
        let each = |name: &str| per_run(&few, &many, name);
        let said = format!("by {backend}: {} calls, {} page faults", each("syscalls"), each("page_faults"));
        assert!(each("syscalls") <= calls && each("page_faults") <= faults, "{said}");
    }
}

/// Rounded: timers of the tracer add a call now and then.
fn per_run(few: &Value, many: &Value, name: &str) -> u64 {
    assert_eq!((&few["lost_events"], &many["lost_events"]), (&0.into(), &0.into()));
    let count = |result: &Value| result["counts"][name].as_u64().unwrap();
    let runs = RUNS[1] - RUNS[0];
    (count(many) - count(few) + runs / 2) / runs
}
