//! What one run of `bench` costs us, in system calls and page faults. The counter is our own tracer.
//!
//! A run that needs one call more fails here, before a benchmark can show it. Lower the bounds when a run becomes cheaper.

use super::trace::result;
use serde_json::Value;

/// The most that one run of the smallest program may cost.
struct Bound {
    backend: &'static str,
    /// Runs before the counted ones. Then ptrace knows that the program runs alone, and stops it once.
    warmup: &'static str,
    /// Our own system calls. In this build, one more where a single descriptor is closed: a debug assertion asks with `fcntl`
    /// whether it is open.
    ours: u64,
    /// Those of the child up to its exec.
    childs: u64,
    page_faults: u64,
}

const BOUNDS: [Bound; 4] = [
    Bound { backend: "bpf", warmup: "0", ours: 8, childs: 5, page_faults: 2 },
    Bound { backend: "pipe", warmup: "0", ours: 12, childs: 5, page_faults: 2 },
    Bound { backend: "ptrace", warmup: "3", ours: 14, childs: 6, page_faults: 2 },
    Bound { backend: "ptrace", warmup: "0", ours: 77, childs: 11, page_faults: 2 },
];

const RUNS: [u64; 2] = [64, 192];

/// What the program itself calls: `write` and `exit`.
const PROGRAMS: u64 = 2;

#[test]
fn a_run_needs_no_more_system_calls_and_page_faults_than_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("hello");
    let program = program.to_str().unwrap();
    let firstbyte = env!("CARGO_BIN_EXE_firstbyte");
    let made =
        std::process::Command::new(firstbyte).args(["elf", "--message", "hello", "-o", program]).status();
    assert!(made.unwrap().success());

    for Bound { backend, warmup, ours, childs, page_faults } in BOUNDS {
        let counted = |runs: u64| {
            let runs = runs.to_string();
            let bench = [firstbyte, "bench", "-N", "--backend", backend, "--runs", &runs];
            let alone = ["--warmup", warmup, "--no-counts", "--no-overhead", program];
            let words = [&["--backend", "bpf", "--runs", "1", "--"], &bench[..], &alone].concat();
            result(&words).map(|result| Counted::of(&result))
        };
        let [Some(few), Some(many)] = RUNS.map(counted) else { return };
        let found = many.per_run_since(&few);
        let said = format!("by {backend} after {warmup} runs: {found:?}");
        let is_cheap = found.ours <= ours && found.childs <= childs && found.page_faults <= page_faults;
        assert!(is_cheap, "{said}");
    }
}

#[derive(Debug)]
struct Counted {
    ours: u64,
    childs: u64,
    page_faults: u64,
    execs: u64,
}

impl Counted {
    fn of(result: &Value) -> Counted {
        assert_eq!(result["lost_events"], 0);
        let count = |name: &str| result["counts"][name].as_u64().unwrap();
        let spans = result["spans"].as_array().unwrap();
        let us = &spans[0]["pid"];
        let ours = spans.iter().filter(|span| span["kind"] == "syscall" && span["pid"] == *us).count() as u64;
        // `execve` is a span of another kind
        Counted {
            ours,
            childs: count("syscalls") - ours,
            page_faults: count("page_faults"),
            execs: count("execs"),
        }
    }

    /// Rounded: timers of the tracer add a call now and then.
    fn per_run_since(&self, few: &Counted) -> Counted {
        let execs = self.execs - few.execs;
        let each = |more: u64, less: u64| (more.saturating_sub(less) + execs / 2) / execs;
        Counted {
            ours: each(self.ours, few.ours),
            childs: each(self.childs, few.childs).saturating_sub(PROGRAMS),
            page_faults: each(self.page_faults, few.page_faults),
            execs,
        }
    }
}
