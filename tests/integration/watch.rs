//! `firstbyte watch`: trees of processes whose counts are known.

use crate::support::{as_nobody, copy_executable, of_nobody, skipped};
use crate::tracees::built;
use firstbyte_measure::launch::{ExitStatus, Launcher, OutputKind};
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::watch::WantedCalls;
use firstbyte_measure::tracer::watcher::attach_watcher;
use firstbyte_measure::tracer::{RunOptions, Tracer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Whether this machine can watch. Otherwise the test is reported as skipped.
fn works() -> bool {
    attach_watcher(BackendChoice::Bpf, true, 1 << 18, WantedCalls::default())
        .map_err(|error| skipped(&error.to_string()))
        .is_ok()
}

fn firstbyte(options: &[&str], words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.arg("watch").args(options).env("COLUMNS", "80").stdin(Stdio::null());
    if !words.is_empty() {
        command.arg("--").args(words);
    }
    command
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The results of a command and the exit status of firstbyte. Nothing may be lost.
fn watched(options: &[&str], words: &[&str]) -> (Value, Option<i32>) {
    let output = firstbyte(&[&["--json"][..], options].concat(), words).output().unwrap();
    let document = document(&output);
    assert_eq!((&document["kind"], &document["lost_events"]), (&json!("watch"), &json!(0)), "{document:#}");
    check(&document);
    (document, output.status.code())
}

/// The results of a tracee; `None`, reported as skipped, if that is impossible.
fn tracee(words: &[&str]) -> Option<(Value, Option<i32>, String)> {
    tracee_with(&[], words)
}

fn tracee_with(options: &[&str], words: &[&str]) -> Option<(Value, Option<i32>, String)> {
    let path = built("watched.c")?.to_str()?.to_owned();
    if !works() {
        return None;
    }
    let (document, status) = watched(options, &[&[path.as_str()][..], words].concat());
    Some((document, status, path))
}

/// What holds for every document: sums and histograms agree, and no time is longer than one that contains it.
fn check(document: &Value) {
    let sum = |key: &str| -> u64 {
        let rows = document["results"].as_array().unwrap().iter();
        rows.map(|row| row.pointer(key).and_then(Value::as_u64).unwrap_or(0)).sum()
    };
    assert_eq!(sum("/execs"), document["totals"]["execs"].as_u64().unwrap());
    assert_eq!(sum("/failed"), document["totals"]["failed"].as_u64().unwrap());
    assert_eq!(sum("/startup_ns/sum"), document["totals"]["startup_ns"].as_u64().unwrap());
    for row in document["results"].as_array().unwrap() {
        for times in ["startup_ns", "first_output_ns", "lifetime_ns"].map(|key| &row[key]) {
            let buckets = times["histogram"].as_array().map_or(&[][..], |buckets| buckets);
            let counted: u64 = buckets.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum();
            assert_eq!(counted, times["count"].as_u64().unwrap_or(0), "{row:#}");
            let order = ["min", "median", "p95", "max"].map(|key| times[key].as_u64().unwrap_or(0));
            assert!(order.is_sorted(), "{row:#}");
        }
        let least = |key: &str| row[key]["min"].as_u64();
        if let (Some(startup), Some(output)) = (least("startup_ns"), least("first_output_ns")) {
            assert!(startup <= output, "{row:#}");
        }
    }
}

fn row<'d>(document: &'d Value, path: &str) -> &'d Value {
    let mut rows = document["results"].as_array().unwrap().iter();
    rows.find(|row| row["path"] == path).unwrap_or_else(|| panic!("no {path}: {document:#}"))
}

fn counts(row: &Value) -> [u64; 5] {
    ["execs", "failed", "unsuccessful", "replaced", "forks"].map(|key| row[key].as_u64().unwrap())
}

fn total(document: &Value, key: &str) -> u64 {
    document["totals"][key].as_u64().unwrap()
}

fn finding<'d>(document: &'d Value, rule: &str) -> &'d Value {
    let mut findings = document["findings"].as_array().unwrap().iter();
    findings.find(|finding| finding["rule"] == rule).unwrap_or_else(|| panic!("no {rule}: {document:#}"))
}

/// How many of a program's execs are on the critical path.
fn on_path(document: &Value, program: &Path) -> u64 {
    let path = &row(document, program.to_str().unwrap())["critical_path"];
    path["execs"].as_u64().unwrap_or_else(|| panic!("{document:#}"))
}

/// Runs a script in which `one`, `two` and `three` are programs that end after so many milliseconds. Returns for each how
/// often it is on the critical path.
fn path_of(script: &str) -> Option<[u64; 3]> {
    let tracee = built("watched.c")?;
    if !works() {
        return None;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let programs = ["one", "two", "three"].map(|name| folder.path().join(name));
    let mut script = script.to_owned();
    for program in &programs {
        fs::copy(&tracee, program).unwrap();
        let name = program.file_name().unwrap().to_str().unwrap();
        script = script.replace(name, &format!("{} late", program.display()));
    }
    let (document, _) = watched(&[], &["sh", "-c", &script]);
    let rows = document["results"].as_array().unwrap().iter();
    let sum: u64 = rows.map(|row| row["critical_path"]["execs"].as_u64().unwrap()).sum();
    assert_eq!(
        (document["totals"]["critical_path"]["execs"].as_u64(), on_path(&document, &shell(&document))),
        (Some(sum), 1)
    );
    Some(programs.map(|program| on_path(&document, &program)))
}

/// The path under which the shell was executed.
fn shell(document: &Value) -> PathBuf {
    let mut rows = document["results"].as_array().unwrap().iter();
    rows.find(|row| row["program"] == "sh").unwrap()["path"].as_str().unwrap().into()
}

#[test]
fn programs_that_a_shell_waits_for_are_all_on_the_critical_path() {
    let Some(execs) = path_of("one 300; two 300; three 300; exit 0") else { return };
    assert_eq!(execs, [1, 1, 1]);
}

#[test]
fn of_programs_at_the_same_time_the_one_that_ends_last_is_on_the_critical_path() {
    let Some(execs) = path_of("one 10 & two 1500 & three 300; wait; exit 0") else { return };
    assert_eq!(execs, [0, 1, 0]);
    let Some(execs) = path_of("(one 300; two 300; exit 0) & three 10; wait; exit 0") else { return };
    assert_eq!(execs, [1, 1, 0], "also below a shell that executes nothing");
}

#[test]
fn what_nobody_waits_for_is_not_on_the_critical_path() {
    let Some(execs) = path_of("one 300 & two 1500; three 300; exit 0") else { return };
    assert_eq!(execs, [0, 1, 1]);
}

#[test]
fn a_pipe_that_is_closed_is_waited_for_as_well() {
    let Some(execs) = path_of("x=$(one 300 & two 1500 & exit 0); three 300; exit 0") else { return };
    assert_eq!(execs[2], 1);
}

/// How many of three programs are on the critical path, each of which takes the processor from its parent until it has ended, so
/// that the parent never sleeps.
fn on_path_of_one_that_gives_way(how: &str, spin: &str) -> Option<u64> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let child = folder.path().join("child");
    fs::copy(built("watched.c")?, &child).unwrap();
    let (document, _, _) = tracee(&[how, "3", child.to_str().unwrap(), "spin", "0", spin])?;
    if document["exit"] == json!({ "code": 77 }) {
        skipped("real-time scheduling is not permitted");
        return None;
    }
    assert_eq!(document["exit"], json!({ "code": 0 }), "{document:#}");
    assert_eq!(row(&document, child.to_str().unwrap())["execs"], 3);
    Some(on_path(&document, &child))
}

#[test]
fn a_parent_that_gets_no_processor_before_its_child_ends_has_waited_for_it() {
    let Some(execs) = on_path_of_one_that_gives_way("give-way", "100") else { return };
    assert_eq!(execs, 3);
}

#[test]
fn a_parent_that_works_longer_than_its_child_has_not_waited_for_it() {
    let Some(execs) = on_path_of_one_that_gives_way("give-way-and-work", "1") else { return };
    assert_eq!(execs, 0);
}

#[test]
fn the_tree_of_processes_has_every_exec_below_the_one_that_started_it() {
    let Some((document, _, path)) = tracee(&["vfork", "5", "/bin/true"]) else { return };
    let place = |path: &str| {
        document["results"].as_array().unwrap().iter().position(|row| row["path"] == path).unwrap()
    };
    let tree = document["tree"].as_array().unwrap();
    let nodes: Vec<_> = tree.iter().map(|node| (&node["above"], &node["program"], &node["execs"])).collect();
    assert_eq!(
        nodes,
        [(&Value::Null, &json!(place(&path)), &json!(1)), (&json!(0), &json!(place("/bin/true")), &json!(5))]
    );
    let cpu: u64 = tree.iter().map(|node| node["cpu_ns"].as_u64().unwrap()).sum();
    assert_eq!(cpu, total(&document, "cpu_ns"));
}

/// The results of a command that is watched by ptrace.
fn by_ptrace(words: &[&str]) -> (Value, Option<i32>) {
    let (document, status) = watched(&["--backend", "ptrace"], words);
    assert_eq!(document["tool"]["backend"], "ptrace");
    let unknown = ["/totals/critical_path", "/results/0/critical_path", "/results/0/first_output_ns"];
    assert!(unknown.iter().all(|key| document.pointer(key) == Some(&Value::Null)), "{document:#}");
    assert!(document["critical_path_unknown"].as_str().unwrap().contains("ptrace"));
    (document, status)
}

#[test]
fn ptrace_counts_what_bpf_counts() {
    let (document, status) = by_ptrace(&["sh", "-c", LOOP]);
    assert_eq!((status, counts(row(&document, "/bin/true"))), (Some(0), [200, 0, 0, 0, 0]));
    assert_eq!(row(&document, "/bin/true")["command_lines"][0]["command"], "/bin/true");
    assert_eq!(counts(row(&document, "/no/such/program")), [0, 7, 0, 0, 0]);
    let totals = ["execs", "failed", "processes", "forks", "running"].map(|key| total(&document, key));
    assert_eq!(totals, [201, 7, 208, 7, 0]);

    let (document, _) = by_ptrace(&["/usr/bin/env", "/usr/bin/env", "/bin/true"]);
    assert_eq!(counts(row(&document, "/usr/bin/env")), [2, 0, 0, 2, 0]);
    assert_eq!((counts(row(&document, "/bin/true")), total(&document, "processes")), ([1, 0, 0, 0, 0], 1));
}

#[test]
fn ptrace_follows_threads_forks_and_vforks() {
    let Some(tracee) = built("watched.c") else { return };
    let path = tracee.to_str().unwrap();
    let (document, _) = by_ptrace(&[path, "vfork", "5", "/bin/true", "a b"]);
    assert_eq!(row(&document, "/bin/true")["command_lines"][0]["command"], "/bin/true 'a b'");
    assert_eq!((total(&document, "execs"), total(&document, "processes")), (6, 6));
    let (document, _) = by_ptrace(&[path, "fork", "12"]);
    assert_eq!((counts(row(&document, path)), total(&document, "forks")), ([1, 0, 0, 0, 12], 12));
    let (document, status) = by_ptrace(&[path, "exec-from-thread", "/bin/true"]);
    assert_eq!((status, counts(row(&document, path))), (Some(0), [1, 0, 0, 1, 0]));
    assert_eq!(
        (row(&document, "/bin/true")["startup_ns"]["count"].as_u64(), total(&document, "processes")),
        (Some(1), 1)
    );
    let (document, status) = by_ptrace(&[path, "leader-exits", "3"]);
    assert_eq!((status, &document["exit"]), (Some(3), &json!({"code": 3})));
    let (document, status) = by_ptrace(&[path, "die"]);
    assert_eq!((status, &document["exit"]), (Some(3), &json!({"signal": 9})));
    let (document, _) = by_ptrace(&[path, "search", "/bin/true"]);
    assert_eq!(counts(row(&document, "/bin/true")), [1, 2, 0, 0, 0]);
    let (document, _) = by_ptrace(&[path, "spin", "3", "10"]);
    assert!(row(&document, path)["cpu_ns"].as_u64().unwrap() >= 30_000_000, "{document:#}");
}

#[test]
fn ptrace_waits_for_what_the_command_leaves_running() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("later");
    let script = format!("(sleep 0.2; /bin/true; : > {}) & exit 0", file.display());
    let (document, status) = by_ptrace(&["sh", "-c", &script]);
    assert_eq!(
        (status, file.exists(), row(&document, "/bin/true")["execs"].as_u64()),
        (Some(0), true, Some(1))
    );
}

#[test]
fn ptrace_cannot_watch_the_machine() {
    let output = firstbyte(&["--backend", "ptrace", "--duration", "1s"], &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("only the processes of a command") && said.contains("\nhelp: "), "{said}");
}

const LOOP: &str = "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done; \
                    i=0; while [ $i -lt 7 ]; do /no/such/program; i=$((i+1)); done; exit 0";

#[test]
fn a_loop_of_200_execs_with_7_that_fail_is_counted_exactly() {
    if !works() {
        return;
    }
    let (document, status) = watched(&[], &["sh", "-c", LOOP]);
    assert_eq!(status, Some(0));
    let row_of_true = row(&document, "/bin/true");
    assert_eq!((&row_of_true["program"], counts(row_of_true)), (&json!("true"), [200, 0, 0, 0, 0]));
    for times in ["startup_ns", "lifetime_ns"] {
        assert_eq!(row_of_true[times]["count"], 200, "{times}");
    }
    assert_eq!(row_of_true["first_output_ns"], Value::Null, "true writes nothing");
    assert_eq!(row_of_true["command_lines"][0]["command"], "/bin/true");
    assert_eq!(row_of_true["command_lines"][0]["execs"], 200);
    assert_eq!(counts(row(&document, "/no/such/program")), [0, 7, 0, 0, 0]);
    let totals = ["execs", "failed", "processes", "forks", "running"].map(|key| total(&document, key));
    assert_eq!(totals, [201, 7, 208, 7, 0]);
    assert_eq!(finding(&document, "repeated_command")["count"], 200);
    assert_eq!(finding(&document, "failed_exec")["count"], 7);
}

#[test]
fn processes_that_are_vforked_belong_to_the_tree() {
    let Some((document, status, path)) = tracee(&["vfork", "5", "/bin/true", "a b"]) else { return };
    assert_eq!(status, Some(0));
    assert_eq!(counts(row(&document, &path)), [1, 0, 0, 0, 0]);
    assert_eq!(counts(row(&document, "/bin/true")), [5, 0, 0, 0, 0]);
    assert_eq!(row(&document, "/bin/true")["command_lines"][0]["command"], "/bin/true 'a b'");
    assert_eq!((total(&document, "processes"), total(&document, "forks")), (6, 0));
}

#[test]
fn forks_without_an_exec_belong_to_the_program_that_made_them() {
    let Some((document, _, path)) = tracee(&["fork", "12"]) else { return };
    assert_eq!(counts(row(&document, &path)), [1, 0, 0, 0, 12]);
    assert_eq!((total(&document, "processes"), total(&document, "forks")), (13, 12));
    assert_eq!(finding(&document, "forks")["count"], 12);
}

#[test]
fn a_thread_that_executes_a_program_replaces_the_one_of_its_process() {
    let Some((document, status, path)) = tracee(&["exec-from-thread", "/bin/true"]) else { return };
    assert_eq!(status, Some(0));
    assert_eq!(counts(row(&document, &path)), [1, 0, 0, 1, 0]);
    assert_eq!(counts(row(&document, "/bin/true")), [1, 0, 0, 0, 0]);
    for program in [path.as_str(), "/bin/true"] {
        for times in ["startup_ns", "lifetime_ns"] {
            assert_eq!(row(&document, program)[times]["count"], 1, "{program} {times}");
        }
    }
    assert_eq!((total(&document, "processes"), total(&document, "running")), (1, 0));
}

#[test]
fn a_chain_of_execs_is_one_process() {
    if !works() {
        return;
    }
    let (document, _) = watched(&[], &["/usr/bin/env", "/usr/bin/env", "/bin/true"]);
    assert_eq!(counts(row(&document, "/usr/bin/env")), [2, 0, 0, 2, 0]);
    assert_eq!(counts(row(&document, "/bin/true")), [1, 0, 0, 0, 0]);
    assert_eq!(total(&document, "processes"), 1);
}

#[test]
fn a_process_ends_with_the_status_that_its_parent_sees() {
    let Some((document, status, path)) = tracee(&["leader-exits", "3"]) else { return };
    assert_eq!((status, &document["exit"]), (Some(3), &json!({"code": 3})));
    assert_eq!(counts(row(&document, &path)), [1, 0, 1, 0, 0]);
    let Some((document, status, path)) = tracee(&["die"]) else { return };
    assert_eq!((status, &document["exit"]), (Some(3), &json!({"signal": 9})));
    assert_eq!(counts(row(&document, &path)), [1, 0, 1, 0, 0]);
}

/// How the processes that have executed a program ended, by the last one of each, as strace saw it.
fn endings_of(strace: &str) -> Vec<String> {
    let (mut last, mut endings) = (BTreeMap::new(), Vec::new());
    for (pid, event) in strace.lines().filter_map(|line| line.split_once(' ')) {
        let event = event.trim_start();
        if let Some((path, rest)) = event.strip_prefix("execve(\"").and_then(|call| call.split_once('"')) {
            let new = rest.split_once("<pid changed to ").and_then(|(_, new)| new.split(' ').next());
            last.insert(new.unwrap_or(pid), path.rsplit('/').next().unwrap());
        }
        if event.contains("execve") && event.contains(" = -1 ") {
            last.remove(pid);
        }
        // the exec of a second thread, if the first one was in a call
        let by =
            event.strip_prefix("+++ superseded by execve in pid ").and_then(|by| by.strip_suffix(" +++"));
        if let Some(program) = by.and_then(|by| last.remove(by)) {
            last.insert(pid, program);
        }
        let code = event.strip_prefix("+++ exited with ").map(|code| format!("exit status {code}"));
        let signal = event.strip_prefix("+++ killed by ").map(|signal| format!("killed by {signal}"));
        let end = code.or(signal).and_then(|end| Some(end.strip_suffix(" +++")?.to_owned()));
        if let Some((end, program)) = end.and_then(|end| Some((end, last.remove(pid)?))) {
            endings.push(format!("{program}: {end}"));
        }
    }
    endings.sort();
    endings
}

#[test]
fn every_process_of_a_tree_ends_as_strace_says() {
    let Some(tracee) = built("watched.c") else { return };
    if !works() || Command::new("strace").arg("-V").output().is_err() {
        return skipped("there is no strace, or watch does not work here");
    }
    let script = "W leader-exits 3; W die; (exit 4); env W vfork 3 /bin/true; /bin/false | /bin/cat; W exec-from-thread /bin/false; \
                  W fork 2; sh -c 'kill -TERM $$'; nice -n 0 env sh -c 'exit 200'; ./missing; exit 6";
    let script = script.replace('W', tracee.to_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let strace = ["strace", "-f", "-q", "-e", "trace=process", "-o", &file("log"), "sh", "-c", &script];
    let (_, status) = watched(&["--export-perfetto", &file("timeline")], &strace);
    assert_eq!(status, Some(3));

    let timeline: Value = serde_json::from_slice(&fs::read(file("timeline")).unwrap()).unwrap();
    let slices = timeline["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "program");
    let mut seen: Vec<String> = slices
        .map(|slice| {
            format!("{}: {}", slice["name"].as_str().unwrap(), slice["args"]["end"].as_str().unwrap())
        })
        .filter(|ending| !ending.starts_with("strace: ") && !ending.ends_with("executed another program"))
        .collect();
    seen.sort();
    let log = fs::read_to_string(file("log")).unwrap();
    assert_eq!(seen, endings_of(&log), "{log}");
    assert_eq!(seen.len(), 13);
}

#[test]
fn the_first_output_comes_after_the_delay_before_it() {
    let Some((document, _, path)) = tracee_with(&["--first-output"], &["late", "30"]) else { return };
    let times = &row(&document, &path)["first_output_ns"];
    assert_eq!(times["count"], 1);
    assert!(times["min"].as_u64().unwrap() >= 30_000_000, "{times}");
    assert!(row(&document, &path)["lifetime_ns"]["min"].as_u64() >= times["min"].as_u64());
}

#[test]
fn the_first_output_is_known_only_if_it_is_wanted() {
    let Some((document, _, path)) = tracee(&["late", "1"]) else { return };
    assert_eq!(row(&document, &path)["first_output_ns"], Value::Null);
    let shown = |options: &[&str]| {
        let output = firstbyte(options, &[&path, "late", "1"]).env("COLUMNS", "200").output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!shown(&[]).contains("1st output"), "there is no column");
    assert!(shown(&["--first-output"]).contains("1st output"));
    let refused = firstbyte(&["--first-output", "--backend", "ptrace"], &["true"]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.contains("\nhelp: leave out"), "{said}");
}

#[test]
fn the_cpu_time_of_all_threads_is_added() {
    let Some((document, _, path)) = tracee(&["spin", "3", "10"]) else { return };
    let cpu = row(&document, &path)["cpu_ns"].as_u64().unwrap();
    assert!(cpu >= 30_000_000, "three threads used 10 ms each: {cpu}");
    assert_eq!(total(&document, "cpu_ns"), cpu);
    assert_eq!(total(&document, "processes"), 1);
}

#[test]
fn failed_execs_in_a_search_belong_to_what_was_found() {
    let Some((document, _, path)) = tracee(&["search", "/bin/true"]) else { return };
    assert_eq!(counts(row(&document, "/bin/true")), [1, 2, 0, 0, 0]);
    assert_eq!(counts(row(&document, &path)), [1, 0, 0, 1, 0]);
    assert_eq!(finding(&document, "path_search")["count"], 2);
}

#[test]
fn ten_thousand_fast_execs_lose_nothing() {
    let (Some(tracee), Some(short)) = (built("watched.c"), built("three_calls.S")) else { return };
    if !works() {
        return;
    }
    let half = format!("{} vfork 5000 {}", tracee.display(), short.display());
    let (document, status) = watched(&[], &["sh", "-c", &format!("{half} & {half} & wait")]);
    assert_eq!(status, Some(0));
    let short = row(&document, short.to_str().unwrap());
    assert_eq!(counts(short), [10_000, 0, 0, 0, 0]);
    for times in ["startup_ns", "lifetime_ns"] {
        assert_eq!(short[times]["count"], 10_000, "{times}");
    }
    assert_eq!((total(&document, "execs"), total(&document, "processes")), (10_003, 10_003));
}

#[test]
fn timelines_have_a_slice_for_every_execution() {
    let Some(tracee) = built("watched.c") else { return };
    if !works() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let read =
        |name: &str| -> Value { serde_json::from_str(&fs::read_to_string(path(name)).unwrap()).unwrap() };
    let exports = ["--export-perfetto", &path("p"), "--export-firefox", &path("f")];
    let (document, _) = watched(&exports, &[tracee.to_str().unwrap(), "vfork", "5", "/bin/true"]);
    assert_eq!((total(&document, "execs"), total(&document, "unlisted_runs")), (6, 0));

    let events = read("p")["traceEvents"].as_array().unwrap().clone();
    let of = |category: &str| events.iter().filter(|event| event["cat"] == category).collect::<Vec<_>>();
    let names: Vec<&str> = of("program").iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["watched_c", "true", "true", "true", "true", "true"]);
    let startups = of("part").iter().filter(|event| event["name"] == "exec").count();
    assert_eq!(startups, 6);
    let parts: BTreeSet<&str> = of("part").iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(parts.into_iter().collect::<Vec<_>>(), ["after its exec", "exec"]);
    let lane = |name: &str| of("program").iter().find(|event| event["name"] == name).unwrap()["tid"].clone();
    assert_ne!(lane("watched_c"), lane("true"), "they run at the same time");

    let profile = read("f");
    let lanes = profile["threads"].as_array().unwrap().iter();
    let markers: u64 = lanes.map(|lane| lane["markers"]["length"].as_u64().unwrap()).sum();
    assert_eq!(markers, 6 + of("part").len() as u64);
}

#[test]
fn two_watches_are_compared_by_their_counts() {
    let Some(tracee) = built("watched.c") else { return };
    if !works() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (file, count) in [("old.json", "2"), ("new.json", "5")] {
        let file = folder.path().join(file);
        let words = [tracee.to_str().unwrap(), "vfork", count, "/bin/true"];
        watched(&["--export-json", file.to_str().unwrap()], &words);
    }
    let compared = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.current_dir(folder.path()).args(["compare", "old.json", "new.json"]).args(options);
        command.output().unwrap()
    };
    let comparison = document(&compared(&["--json"]));
    assert_eq!(comparison["programs"].as_array().unwrap().len(), 1);
    assert_eq!(comparison["programs"][0]["path"], "/bin/true");
    assert_eq!(comparison["programs"][0]["changes"][0], json!({"name": "execs", "old": 2, "new": 5}));
    assert_eq!((&comparison["unchanged"], &comparison["notes"]), (&json!(1), &json!([])));
    let text = String::from_utf8(compared(&[]).stdout).unwrap();
    assert!(text.lines().any(|line| line.split_whitespace().eq(["/bin/true", "2", "5", "+3"])), "{text}");
    assert_eq!(compared(&["--fail-if-slower", "5%"]).status.code(), Some(2));
}

#[test]
fn without_memory_for_command_lines_the_counts_stay_exact() {
    if !works() {
        return;
    }
    let script =
        "a=$(printf %02000d 0); i=0; while [ $i -lt 600 ]; do /bin/true $i$a; i=$((i+1)); done; exit 0";
    let (document, _) = watched(&["--memory", "1MiB"], &["sh", "-c", script]);
    assert_eq!(row(&document, "/bin/true")["execs"], 600);
    let unlisted = total(&document, "unlisted_command_lines");
    assert!((1..600).contains(&unlisted), "{unlisted}");
}

#[test]
fn thousands_of_paths_in_little_memory_lose_no_exec_and_hide_no_late_program() {
    let Some(short) = built("three_calls.S") else { return };
    if !works() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in (0..2000).map(|n| format!("p{n}")).chain(["late".to_owned()]) {
        std::os::unix::fs::symlink(&short, folder.path().join(name)).unwrap();
    }
    let script =
        "cd $0; i=0; while [ $i -lt 2000 ]; do ./p$i; [ $i -lt 1000 ] || ./late; i=$((i+1)); done; exit 0";
    let file = folder.path().join("counts.prom");
    let options = ["--memory", "1MiB", "--textfile", file.to_str().unwrap()];
    let (document, _) = watched(&options, &["/bin/sh", "-c", script, folder.path().to_str().unwrap()]);

    let rows = document["results"].as_array().unwrap();
    assert!(rows.len() < 60, "{} rows", rows.len());
    let (late, others) = (row(&document, "./late"), row(&document, "(other programs)"));
    assert_eq!((counts(late)[0], total(&document, "execs")), (1000, 3001));
    assert!(late["unlisted_execs"].as_u64().unwrap() > 0, "it could have been there before: {late:#}");
    assert_eq!(others["execs"].as_u64().unwrap(), total(&document, "unlisted_execs"));
    let tree = document["tree"].as_array().unwrap();
    assert_eq!(tree.iter().map(|node| node["execs"].as_u64().unwrap()).sum::<u64>(), 3001);

    let text = fs::read_to_string(file).unwrap();
    let values = text.lines().filter(|line| line.starts_with("firstbyte_execs_total{"));
    let values = values.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(values.sum::<u64>(), 3001);
}

#[test]
fn the_output_of_the_command_is_its_own() {
    if !works() {
        return;
    }
    let plain = firstbyte(&[], &["echo", "hello"]).output().unwrap();
    assert_eq!((plain.status.code(), plain.stdout.as_slice()), (Some(0), &b"hello\n"[..]));
    let said = String::from_utf8_lossy(&plain.stderr);
    assert!(
        said.starts_with("echo hello\nwall time ") && said.contains("\n1 exec of 1 program in 1 process, "),
        "{said}"
    );
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");

    let json = firstbyte(&["--json"], &["echo", "hello"]).output().unwrap();
    assert_eq!(document(&json)["command"], "echo hello");
    assert_eq!(String::from_utf8_lossy(&json.stderr), "hello\n");
}

#[test]
fn what_the_command_leaves_running_is_left_alone() {
    if !works() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = format!("sleep 98781 >/dev/null 2>&1 & echo $! > {}; exit 0", pid.display());
    let (document, status) = watched(&[], &["sh", "-c", &script]);
    let pid = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let killed = rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    );
    assert_eq!((status, killed), (Some(0), Ok(())));
    assert_eq!((total(&document, "processes"), total(&document, "running")), (1, 1));
}

#[test]
fn a_signal_to_firstbyte_alone_reaches_the_command_and_the_results_are_kept() {
    if !works() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let begun = folder.path().join("begun");
    let script = format!("trap 'exit 5' TERM; : > {}; while :; do sleep 0.01; done", begun.display());
    let mut command = firstbyte(&["--json"], &["sh", "-c", &script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    while !begun.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let document = document(&output);
    assert_eq!((output.status.code(), &document["partial"]), (Some(130), &json!(true)));
    assert_eq!(document["exit"], json!({"code": 5}));
}

#[test]
fn a_command_that_cannot_be_started_is_an_error() {
    let missing = firstbyte(&[], &["./no-such-program"]).output().unwrap();
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(
        missing.status.code() == Some(3) && said.contains("`./no-such-program` does not exist"),
        "{said}"
    );
    assert!(said.contains("\nhelp: "), "{said}");
    for options in [&["--memory", "1"][..], &["--user", "no such user"], &["--duration", "1s", "--", "true"]]
    {
        let refused = firstbyte(options, &[]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{options:?}");
    }
}

#[test]
fn a_user_without_privileges_watches_by_ptrace_and_for_the_machine_gets_the_remedy() {
    let Some(folder) = of_nobody() else { return };
    let watch = |words: &[&str]| {
        let words = [&["./firstbyte", "watch"][..], words].concat();
        let output = as_nobody(folder.path(), &words).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = watch(&["--", "true"]);
    assert!(status == Some(0) && said.contains("watched by ptrace: every fork"), "{said}");
    let (status, said) = watch(&["--duration", "1s"]);
    assert_eq!(status, Some(4), "{said}");
    assert!(said.contains("the `bpf` backend does not work here") && said.contains("\nhelp: "), "{said}");
}

/// A program of its own name, which runs again and again while the machine is watched.
struct Busy {
    folder: tempfile::TempDir,
}

impl Busy {
    fn new() -> Busy {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).unwrap();
        copy_executable("/bin/true".as_ref(), &folder.path().join("busy"), 0o755);
        Busy { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("busy")
    }

    /// What was seen of it, if each of these commands runs again and again until the watch is over.
    fn watched(&self, options: &[&str], commands: &mut [Command]) -> Value {
        let file = self.folder.path().join("watch.json");
        let always = ["--duration", "1s", "--export-json", file.to_str().unwrap()];
        let mut watch =
            firstbyte(&[&always[..], options].concat(), &[]).stdout(Stdio::null()).spawn().unwrap();
        while watch.try_wait().unwrap().is_none() {
            for command in &mut *commands {
                assert!(command.status().unwrap().success());
            }
        }
        let document = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        check(&document);
        document
    }

    fn seen(&self, document: &Value) -> u64 {
        let path = self.path();
        let mut rows = document["results"].as_array().unwrap().iter();
        let row = rows.find(|row| Path::new(row["path"].as_str().unwrap()) == path);
        row.map_or(0, |row| row["execs"].as_u64().unwrap())
    }
}

#[test]
fn without_a_command_the_whole_machine_is_watched() {
    if !works() {
        return;
    }
    let busy = Busy::new();
    let document = busy.watched(&[], &mut [Command::new(busy.path())]);
    assert!(busy.seen(&document) > 0, "{document:#}");
    assert_eq!((&document["command"], &document["partial"]), (&Value::Null, &json!(false)));
    assert!(document["wall_ns"].as_u64().unwrap() >= 1_000_000_000);
}

/// It is drawn once a second, each time over the last one.
#[test]
fn a_terminal_shows_the_table_while_the_machine_is_watched() {
    if !works() {
        return;
    }
    let words = [env!("CARGO_BIN_EXE_firstbyte"), "watch", "--duration", "3s"];
    let mut launcher = Launcher::new(firstbyte_measure::launch::Command::new(&words).unwrap()).unwrap();
    let on_terminal = RunOptions { output: OutputKind::Pty, ..RunOptions::default() };
    let recording = PipeTracer::new().run(&mut launcher, &on_terminal).unwrap();
    let shown = String::from_utf8_lossy(&recording.output.head).into_owned();
    assert_eq!(recording.exit, ExitStatus::SUCCESS, "{shown}");
    assert!(shown.contains("all processes of the machine"), "{shown}");
    // the second one begins in the first line of the first one
    let first = shown.find("all processes of the machine").unwrap();
    let again = shown[first..].split_once("A\u{1b}[2K").unwrap_or_else(|| panic!("{shown}")).1;
    assert!(again.contains("all processes of the machine"), "{shown}");
}

#[test]
fn only_the_processes_of_a_user_are_watched() {
    if !works() {
        return;
    }
    if !rustix::process::geteuid().is_root() || firstbyte_measure::launch::find_in_path("setpriv").is_none() {
        return skipped("only root can become another user, with `setpriv`");
    }
    let busy = Busy::new();
    let mut other = Command::new("setpriv");
    other.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(busy.path());
    if !other.status().is_ok_and(|status| status.success()) {
        return skipped("that user has no access to the folder");
    }
    let of_root = busy.watched(&["--user", "65533"], &mut [Command::new(busy.path())]);
    assert_eq!(busy.seen(&of_root), 0, "{of_root:#}");
    let of_other = busy.watched(&["--user", "65534"], &mut [other]);
    assert!(busy.seen(&of_other) > 0, "{of_other:#}");
}

/// A control group of our own, below the root of the unified hierarchy; `None`, reported as skipped, if there can be none.
struct ControlGroup(PathBuf);

impl ControlGroup {
    fn new() -> Option<ControlGroup> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let root = mounts.lines().find(|line| line.contains(" - cgroup2 "));
        let root = root.and_then(|line| line.split(' ').nth(4)).unwrap_or("/nonexistent");
        let folder = Path::new(root).join(format!("firstbyte-test-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&folder) {
            skipped(&format!("no control group can be made: {error}"));
            return None;
        }
        Some(ControlGroup(folder))
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn only_the_processes_of_a_control_group_are_watched() {
    if !works() {
        return;
    }
    let Some(group) = ControlGroup::new() else { return };
    let busy = Busy::new();
    let inside = format!("echo $$ > {}/cgroup.procs; exec {}", group.0.display(), busy.path().display());
    let mut inside_and_outside = [Command::new("sh"), Command::new("/bin/true")];
    inside_and_outside[0].args(["-c", &inside]);
    let document = busy.watched(&["--cgroup", group.0.to_str().unwrap()], &mut inside_and_outside);
    assert!(busy.seen(&document) > 0, "{document:#}");
    let others = document["results"].as_array().unwrap().iter().filter(|row| row["path"] == "/bin/true");
    assert_eq!(others.count(), 0, "{document:#}");
}
