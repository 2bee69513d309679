//! What one run of `bench`, of `trace` and one exec of `watch` cost us, in system calls, page faults and context switches,
//! and what our own start does. The counter of calls is our own tracer.
//!
//! A run that needs one call more fails here, before a benchmark can show it. Lower the bounds when a run becomes cheaper.

use super::trace::result;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The most that one run of the smallest program may cost.
struct Bound {
    backend: &'static str,
    /// Runs before the counted ones. Then ptrace knows that the program runs alone, and stops it once.
    warmup: &'static str,
    /// Our own system calls. In this build, one more where a single descriptor is closed: a debug assertion asks with `fcntl`
    /// whether it is open.
    ours: usize,
    /// Those of the child up to its exec.
    childs: usize,
    page_faults: usize,
}

const BOUNDS: [Bound; 4] = [
    Bound { backend: "bpf", warmup: "0", ours: 8, childs: 5, page_faults: 2 },
    Bound { backend: "pipe", warmup: "0", ours: 11, childs: 5, page_faults: 2 },
    Bound { backend: "ptrace", warmup: "3", ours: 13, childs: 6, page_faults: 2 },
    Bound { backend: "ptrace", warmup: "0", ours: 72, childs: 11, page_faults: 2 },
];

const RUNS: &str = "96";

/// What the program itself calls: `write` and `exit`.
const PROGRAMS: usize = 2;

#[test]
fn a_run_needs_no_more_system_calls_and_page_faults_than_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let (program, firstbyte) = (&*hello(folder.path()), env!("CARGO_BIN_EXE_firstbyte"));

    for Bound { backend, warmup, ours, childs, page_faults } in BOUNDS {
        let bench = [firstbyte, "bench", "-N", "--backend", backend, "--runs", RUNS];
        let alone = ["--warmup", warmup, "--no-counts", "--no-overhead", program];
        let Some(result) = result(&[&["--backend", "bpf", "--runs", "1", "--"], &bench[..], &alone].concat())
        else {
            return;
        };
        assert_eq!(result["lost_events"], 0);
        let cost = Cost::of(result["spans"].as_array().unwrap());
        let is_cheap = cost.ours <= ours && cost.childs <= childs && cost.page_faults <= page_faults;
        assert!(is_cheap, "by {backend} after {warmup} runs: {cost:?}");
    }
}

/// The smallest program.
fn hello(folder: &Path) -> String {
    let program = folder.join("hello").to_str().unwrap().to_owned();
    let mut made = std::process::Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    assert!(made.args(["elf", "--message", "hello", "-o", &program]).status().unwrap().success());
    program
}

/// The most system calls that one more run of a trace, or one more exec of a watch, may cost us.
const OTHER_BOUNDS: [(&str, &str, i64); 4] =
    [("trace", "bpf", 17), ("trace", "ptrace", 114), ("watch", "bpf", 0), ("watch", "ptrace", 31)];

const FEW: usize = 50;
const MORE: usize = 250;
const TRIES: usize = 4;

#[test]
fn one_more_run_of_a_trace_and_one_more_exec_of_a_watch_need_no_more_system_calls() {
    let folder = tempfile::tempdir().unwrap();
    let program = hello(folder.path());
    for (command, backend, bound) in OTHER_BOUNDS {
        let calls = |runs| calls_of(command, backend, &program, runs).map(|calls| [calls]);
        assert_one_more(&format!("{command} by {backend}"), [bound], calls);
    }
}

/// What one more run costs, by counts of few and of more runs. Beside other programs it looks more often whether something has
/// happened, so one of some tries must keep the bounds.
fn assert_one_more<const N: usize>(
    context: &str,
    bounds: [i64; N],
    count: impl Fn(usize) -> Option<[i64; N]>,
) {
    let between = i64::try_from(MORE - FEW).unwrap();
    let mut all: Vec<[i64; N]> = Vec::new();
    for _ in 0..TRIES {
        let (Some(few), Some(more)) = (count(FEW), count(MORE)) else { return };
        let each: [i64; N] = std::array::from_fn(|at| (more[at] - few[at] + between / 2).div_euclid(between));
        if each.iter().zip(bounds).all(|(each, bound)| *each <= bound) {
            return;
        }
        all.push(each);
    }
    panic!("{context}: {all:?}");
}

/// How many system calls firstbyte itself makes, but for those in which its threads wait for each other: that is chance.
fn calls_of(command: &str, backend: &str, program: &str, runs: usize) -> Option<i64> {
    let words = command_of(command, &["--backend", backend], program, runs);
    let words: Vec<&str> = ["--backend", "bpf", "--runs", "1", "--"]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
    let result = result(&words)?;
    assert_eq!(result["lost_events"], 0);
    let spans = result["spans"].as_array().unwrap();
    let is_ours = |span: &&Value| span["pid"] == spans[0]["pid"] && span["kind"] == "syscall";
    let calls = spans.iter().filter(is_ours).filter(|span| span["name"] != "futex").count();
    Some(i64::try_from(calls).unwrap())
}

/// The command that runs the program so often, with no work that only the first or the last run needs.
fn command_of(command: &str, options: &[&str], program: &str, runs: usize) -> Vec<String> {
    let runs = runs.to_string();
    let shell = format!("i=0; while [ $i -lt {runs} ]; do {program}; i=$((i+1)); done");
    let program = match command {
        "bench" => ["-N", "--no-counts", "--no-overhead", "--runs", &runs, program].to_vec(),
        "trace" => ["-r", &runs, "--no-samples", "--no-runtimes", "--no-overhead", program].to_vec(),
        _ => ["--", "sh", "-c", &shell].to_vec(),
    };
    [&[env!("CARGO_BIN_EXE_firstbyte"), command], options, &program]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// What one more run, or one more exec of a watch, may cost us and the program together. Each waits for the other at least
/// once, and the program has a fault or two of its own.
struct Together {
    command: &'static str,
    options: &'static [&'static str],
    /// Only those in which a process waits for something: when the kernel takes the processor away is chance.
    switches: i64,
    page_faults: i64,
}

const TOGETHER: [Together; 8] = [
    Together { command: "bench", options: &["--backend", "bpf"], switches: 3, page_faults: 3 },
    Together { command: "bench", options: &["--backend", "pipe"], switches: 4, page_faults: 3 },
    Together {
        command: "bench",
        options: &["--backend", "ptrace", "--warmup", "3"],
        switches: 6,
        page_faults: 3,
    },
    Together {
        command: "bench",
        options: &["--backend", "ptrace", "--warmup", "0"],
        switches: 22,
        page_faults: 3,
    },
    Together { command: "trace", options: &["--backend", "bpf"], switches: 3, page_faults: 7 },
    Together { command: "trace", options: &["--backend", "ptrace"], switches: 30, page_faults: 6 },
    Together { command: "watch", options: &["--backend", "bpf"], switches: 3, page_faults: 3 },
    Together { command: "watch", options: &["--backend", "ptrace"], switches: 17, page_faults: 3 },
];

#[test]
fn one_more_run_or_exec_needs_no_more_context_switches_and_page_faults() {
    let folder = tempfile::tempdir().unwrap();
    let program = hello(folder.path());
    for Together { command, options, switches, page_faults } in TOGETHER {
        let usage = |runs| usage_of(&command_of(command, options, &program, runs));
        assert_one_more(&format!("{command} {options:?}"), [switches, page_faults], usage);
    }
}

/// Its context switches and page faults, with those of the processes that it waited for; `None`, reported as skipped, where
/// the backend does not work.
#[expect(clippy::zombie_processes, reason = "`wait4` waits for it")]
fn usage_of(words: &[String]) -> Option<[i64; 2]> {
    use std::process::{Command, Stdio};

    let mut command = Command::new(&words[0]);
    let child = command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (pid, mut status) = (i32::try_from(child.id()).unwrap(), 0);
    let errors = std::io::read_to_string(child.stderr.unwrap()).unwrap();
    // SAFETY: a `rusage` is numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to variables of ours, and the child was not waited for.
    assert_eq!(unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) }, pid);
    if errors.contains("backend does not work here") {
        super::support::skipped(&errors);
        return None;
    }
    assert_eq!(status, 0, "{words:?}: {errors}");
    Some([usage.ru_nvcsw, usage.ru_minflt])
}

/// The static binary's, from its `execve` on. Half of them are made by the C library before `main`.
const OWN_START: usize = 21;

#[test]
fn our_own_start_needs_no_more_system_calls_than_it_did() {
    let version = [env!("CARGO_BIN_EXE_firstbyte"), "--version"];
    let Some(result) = result(&[&["--backend", "bpf", "--runs", "1", "--"], &version[..]].concat()) else {
        return;
    };
    let spans = result["spans"].as_array().unwrap();
    let calls: Vec<&Value> =
        spans.iter().filter(|span| span["kind"] == "syscall").map(|span| &span["name"]).collect();
    assert!(calls.len() <= OWN_START, "{calls:?}");
}

/// In a virtual machine each CPUID takes as long as ten system calls. `src/c_library.rs` knows the start of one glibc.
#[cfg(target_arch = "x86_64")]
#[test]
fn our_own_start_does_not_ask_what_the_processor_is() {
    use firstbyte_measure::launch::Command;
    use firstbyte_measure::tracer::ptrace::cpuid_count;

    // SAFETY: returns a static string.
    let libc = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    if libc != c"2.36" {
        return super::support::skipped(&format!("glibc {libc:?} starts as it does itself"));
    }
    let cpuids = |words: &[&str]| cpuid_count(&Command::new(words).unwrap());
    assert_eq!(cpuids(&[env!("CARGO_BIN_EXE_firstbyte"), "--version"]), Ok(0));
    assert!(cpuids(&["true"]).unwrap() > 0, "the dynamic linker asks");
}

/// The medians of all runs. On a busy machine some runs take so long that we look at them meanwhile.
#[derive(Debug)]
struct Cost {
    ours: usize,
    childs: usize,
    page_faults: usize,
}

impl Cost {
    fn of(spans: &[Value]) -> Cost {
        let us = &spans[0]["pid"];
        let is_call = |span: &&Value| span["kind"] == "syscall";
        let is_ours = |span: &&Value| span["pid"] == *us;
        let start = |span: &Value| span["start_ns"].as_u64().unwrap();
        let mut launches: Vec<u64> = spans
            .iter()
            .filter(|span| is_call(span) && is_ours(span) && span["name"] == "clone")
            .map(start)
            .collect();
        launches.sort_unstable();
        let of_each = |wanted: &dyn Fn(&&Value) -> bool| {
            let mut starts: Vec<u64> = spans.iter().filter(wanted).map(start).collect();
            starts.sort_unstable();
            let before = |at: u64| starts.partition_point(|start| *start < at);
            median(launches.windows(2).map(|pair| before(pair[1]) - before(pair[0])).collect())
        };
        let mut childs: BTreeMap<u64, usize> = BTreeMap::new();
        for span in spans.iter().filter(|span| is_call(span) && !is_ours(span)) {
            *childs.entry(span["pid"].as_u64().unwrap()).or_default() += 1;
        }
        // their `execve` is a span of another kind
        let childs = median(childs.into_values().collect()) + 1 - PROGRAMS;
        let page_faults = of_each(&|span| span["kind"] == "fault");
        Cost { ours: of_each(&|span| is_call(span) && is_ours(span)), childs, page_faults }
    }
}

fn median(mut counts: Vec<usize>) -> usize {
    counts.sort_unstable();
    counts[counts.len() / 2]
}
