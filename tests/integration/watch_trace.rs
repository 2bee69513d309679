//! `firstbyte watch --trace`: starts that others make, explained as `firstbyte trace` explains its own.

use crate::support::{as_nobody, copy_executable, of_nobody, skipped, write_executable};
use crate::tracees::{CASES, built, faults_of};
use firstbyte_measure::launch::OutputKind;
use firstbyte_measure::tracer::EventKind;
use firstbyte_measure::tracer::starts::{Look, StartTracer, StartsPlan, TracedStart};
use firstbyte_measure::tracer::watch::Scope;
use firstbyte_measure::tracer::watcher::attach_starts;
use firstbyte_measure::units::Nanos;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder with copies of tracees, so that no other test executes the same paths.
struct Folder(tempfile::TempDir);

impl Folder {
    /// `None`, reported as skipped, if this machine cannot trace.
    fn new() -> Option<Folder> {
        attach("x").map(|_| Folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn copy(&self, source: &str, name: &str) -> Option<String> {
        let path = self.path(name);
        copy_executable(&built(source)?, Path::new(&path), 0o755);
        Some(path)
    }

    fn script(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        write_executable(Path::new(&path), text, 0o755);
        path
    }

    /// Watches a command. Returns the trace, which must be consistent, and what firstbyte printed.
    fn traced(&self, options: &[&str], words: &[&str]) -> (Value, Output) {
        let file = self.path("trace.json");
        let export = ["--export-trace", file.as_str()];
        let output = watch(&[options, &export].concat(), words).output().unwrap();
        let text = fs::read(&file).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let document: Value = serde_json::from_slice(&text).unwrap();
        check(&document);
        (document, output)
    }
}

fn watch(options: &[&str], words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.arg("watch").args(options).env("COLUMNS", "80").stdin(Stdio::null());
    if !words.is_empty() {
        command.arg("--").args(words);
    }
    command
}

fn attach(program: &str) -> Option<Box<dyn StartTracer>> {
    let plan = StartsPlan {
        program: program.to_owned(),
        every: 1,
        memory: 64 << 20,
        longest: Duration::from_secs(60),
    };
    attach_starts(plan).map_err(|error| skipped(&error.to_string())).ok()
}

/// Everything adds up, and nothing is there that only runs of our own have.
fn check(document: &Value) {
    assert_eq!((&document["kind"], document["results"].as_array().unwrap().len()), (&json!("trace"), 1));
    assert_eq!(document["tool"]["observer_overhead"], json!([]));
    let program = &document["results"][0];
    let total = program["total_ns"].as_u64().unwrap();
    let sum = |list: &str, time: &dyn Fn(&Value) -> u64| -> u64 {
        program[list].as_array().unwrap().iter().map(time).sum()
    };
    assert_eq!(sum("attribution", &|share| share["ns"].as_u64().unwrap()), total);
    let length = |piece: &Value| piece["to_ns"].as_u64().unwrap() - piece["from_ns"].as_u64().unwrap();
    assert_eq!(sum("critical_path", &length), total);
    let phases: u64 = program["run_phases"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(phases, total);

    for absent in ["user", "system", "sampling", "corrected_total_ns"] {
        assert_eq!(program[absent], Value::Null, "{absent}");
    }
    assert_eq!((program.get("executions"), program.get("until")), (None, None));
    assert_eq!((&program["untraced_times"], &program["lost_events"]), (&json!([]), &json!(0)));
    let runs = program["runs"].as_u64().unwrap();
    let watched = &program["watched"];
    let numbers = numbers(document);
    assert!(numbers.len() as u64 == runs && numbers.is_sorted_by(|a, b| a < b), "{watched}");
    assert!(numbers.iter().all(|number| (1..=watched["starts"].as_u64().unwrap()).contains(number)));
    let lines = watched["command_lines"].as_array().unwrap().iter();
    assert_eq!(lines.map(|line| line["runs"].as_u64().unwrap()).sum::<u64>(), runs);
}

fn numbers(document: &Value) -> Vec<u64> {
    let numbers = document["results"][0]["watched"]["numbers"].as_array().unwrap();
    numbers.iter().map(|number| number.as_u64().unwrap()).collect()
}

fn starts(document: &Value) -> u64 {
    document["results"][0]["watched"]["starts"].as_u64().unwrap()
}

fn execs(document: &Value) -> Vec<(String, String)> {
    let processes = document["results"][0]["processes"].as_array().unwrap().iter();
    let execs = processes.flat_map(|process| process["execs"].as_array().unwrap());
    let text = |exec: &Value, key: &str| exec[key].as_str().unwrap().to_owned();
    execs.map(|exec| (text(exec, "path"), text(exec, "executed"))).collect()
}

/// The start that a process makes while it is traced.
fn look_until_ended(tracer: &mut dyn StartTracer) -> TracedStart {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        match tracer.look() {
            Look::Ended(start) => return *start,
            Look::TooLong | Look::TooLarge => break,
            Look::Nothing | Look::Soon => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    panic!("no start was traced");
}

/// Looks until the tracer waits for the next start.
fn get_ready(tracer: &mut dyn StartTracer) {
    for _ in 0..3 {
        tracer.look();
    }
}

#[test]
fn every_case_of_the_table_is_observed_as_if_we_had_launched_it() {
    let Some(folder) = Folder::new() else { return };
    let Some(program) = folder.copy("writer.c", "writer") else { return };
    let Some(mut tracer) = attach(&program) else { return };
    tracer.follow(Scope::default());

    let mut wrong = Vec::new();
    // nobody would kill what they leave running
    for case in CASES.iter().filter(|case| case.source == "writer.c" && !case.left_behind) {
        let mut run = Command::new(&program);
        run.args(case.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(run.status().is_ok(), "{:?}", case.arguments);
        let start = look_until_ended(&mut *tracer);
        get_ready(&mut *tracer);
        let faults = faults_of(case, OutputKind::Null, &start.recording);
        wrong.extend(faults.into_iter().map(|fault| format!("{:?}: {fault}", case.arguments)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names of the system calls of the first thread, in order.
fn calls(document: &Value) -> Vec<&str> {
    let program = &document["results"][0];
    let root = program["processes"][0]["pid"].as_u64().unwrap();
    let spans = program["spans"].as_array().unwrap().iter();
    let own = spans.filter(|span| span["tid"] == root && span["kind"] == "syscall");
    own.map(|span| span["name"].as_str().unwrap()).collect()
}

#[test]
fn a_start_of_others_has_the_steps_of_one_of_ours() {
    let Some(folder) = Folder::new() else { return };
    for (source, arguments) in [("three_calls.S", &[][..]), ("writer.c", &["fork"]), ("counted.c", &[])] {
        let Some(path) = folder.copy(source, "tracee") else { continue };
        let words = [&[path.as_str()][..], arguments].concat();
        let mut trace = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        trace.args(["trace", "--json", "-r", "1", "--no-overhead", "--no-samples", "--backend", "bpf", "--"]);
        let ours: Value = serde_json::from_slice(&trace.args(&words).output().unwrap().stdout).unwrap();
        let (others, _) = folder.traced(&["--trace", "tracee"], &words);

        assert_eq!(calls(&others), calls(&ours), "{source}");
        let counts = |document: &Value, count: &str| document["results"][0]["counts"][count].clone();
        for count in
            ["processes", "threads", "execs", "syscalls", "files_opened", "failed_opens", "bytes_read"]
        {
            assert_eq!(counts(&others, count), counts(&ours, count), "{source}: {count}");
        }
        assert_eq!((starts(&others), numbers(&others)), (1, vec![1]));
        assert_eq!(others["results"][0]["command"], ours["results"][0]["command"]);
    }
}

#[test]
fn every_third_start_is_traced_and_all_are_counted() {
    let Some(folder) = Folder::new() else { return };
    let Some(path) = folder.copy("watched.c", "often") else { return };
    let script = format!("for i in 1 2 3 4 5 6 7 8 9; do {path} late 1; sleep 0.1; done");
    let (document, output) = folder.traced(&["--trace", "often", "--every", "3"], &["sh", "-c", &script]);
    let numbers = numbers(&document);
    assert_eq!((starts(&document), numbers[0]), (9, 3), "{numbers:?}");
    assert!(numbers.windows(2).all(|pair| pair[0] + 3 <= pair[1]), "{numbers:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains(&format!("often: {} of 9 starts\n", numbers.len())), "{text}");
    assert!(output.status.success());
}

#[test]
fn no_more_starts_are_traced_than_asked_for() {
    let Some(folder) = Folder::new() else { return };
    let Some(path) = folder.copy("watched.c", "often") else { return };
    let script = format!("for i in 1 2 3 4 5 6; do {path} late 1; sleep 0.1; done");
    let options = ["--trace", path.as_str(), "--max-traces", "2"];
    let (document, _) = folder.traced(&options, &["sh", "-c", &script]);
    assert_eq!(numbers(&document).len(), 2);
}

#[test]
fn starts_at_the_same_time_are_counted_and_one_of_them_is_traced() {
    let Some(folder) = Folder::new() else { return };
    let Some(path) = folder.copy("watched.c", "many") else { return };
    let script = format!("for i in 1 2 3 4 5 6 7 8; do {path} vfork 3 {path} late 20 & done; wait");
    let (document, _) = folder.traced(&["--trace", "many"], &["sh", "-c", &script]);
    assert_eq!(starts(&document), 8 * 4);
    // whichever was first: a parent with its three children, or a child
    let execs = execs(&document);
    assert!([1, 4].contains(&execs.len()) && execs.iter().all(|(file, _)| *file == path), "{execs:?}");
}

#[test]
fn a_script_is_known_by_its_own_name() {
    let Some(folder) = Folder::new() else { return };
    let script = folder.script("scripted", "#!/bin/sh\nexec /bin/echo \"$1\"\n");
    let run = format!("cd {}; ./scripted one; sleep 0.2; {script} two", folder.path(""));
    let (document, output) = folder.traced(&["--trace", "scripted"], &["sh", "-c", &run]);
    assert_eq!(output.stdout, b"one\ntwo\n");
    assert_eq!((starts(&document), numbers(&document)), (2, vec![1, 2]));
    let execs = execs(&document);
    assert!(execs[0].0.ends_with("/scripted") && execs[0].1.ends_with("sh"), "{execs:?}");
    assert!(execs[1].0.ends_with("/echo"), "{execs:?}");
}

#[test]
fn what_a_start_leaves_running_goes_on_and_is_followed_no_longer() {
    let Some(folder) = Folder::new() else { return };
    let Some(path) = folder.copy("watched.c", "left") else { return };
    let marker = folder.path("done");
    let leaver = folder.script("leaver", &format!("#!/bin/sh\n({path} late 300 >{marker}) &\n"));
    let script = format!("{leaver}; while ! test -s {marker}; do sleep 0.05; done");
    let (document, output) = folder.traced(&["--trace", "leaver"], &["sh", "-c", &script]);
    assert!(output.status.success() && fs::read(&marker).unwrap() == b"late\n");
    let program = &document["results"][0];
    let processes = program["processes"].as_array().unwrap();
    assert!(processes.len() > 1, "{processes:?}");
    assert_eq!((&processes[0]["end_ns"], processes[1]["end_ns"].as_u64()), (&program["total_ns"], None));
}

#[test]
fn failed_tries_along_the_path_are_no_starts() {
    let Some(folder) = Folder::new() else { return };
    let (Some(tracee), Some(path)) = (folder.copy("watched.c", "tree"), folder.copy("watched.c", "wanted"))
    else {
        return;
    };
    // two folders that do not have it, and the one that has
    let words = [&tracee, "search", &path, "late", "1"];
    let (document, _) = folder.traced(&["--trace", "wanted"], &words);
    assert_eq!((starts(&document), execs(&document)), (1, vec![(path.clone(), path)]));
    let failed = document["results"][0]["spans"].as_array().unwrap().iter();
    assert_eq!(failed.filter(|span| span["name"] == "execve").count(), 0, "they were before the start");
}

/// The kernel side cannot read such a path when the execve is entered.
#[test]
fn a_path_in_memory_that_was_not_touched_is_recognised_when_the_kernel_has_read_it() {
    let Some(folder) = Folder::new() else { return };
    let (Some(tracee), Some(path)) = (folder.copy("watched.c", "tree"), folder.copy("watched.c", "wanted"))
    else {
        return;
    };
    let other = folder.copy("watched.c", "other").unwrap();
    let file = |name: &str, path: &str| {
        fs::write(folder.path(name), format!("{path}\0")).unwrap();
        folder.path(name)
    };
    let (to_wanted, to_other) = (file("to-wanted", &path), file("to-other", &other));
    let script = format!("{tracee} exec-unread {to_other} late 1; {tracee} exec-unread {to_wanted} late 1");
    let (document, _) = folder.traced(&["--trace", "wanted"], &["sh", "-c", &script]);
    assert_eq!((starts(&document), execs(&document)), (1, vec![(path.clone(), path)]));
}

#[test]
fn an_exec_by_another_thread_begins_a_start() {
    let Some(folder) = Folder::new() else { return };
    let (Some(tracee), Some(path)) = (folder.copy("watched.c", "tree"), folder.copy("watched.c", "wanted"))
    else {
        return;
    };
    let words = [&tracee, "exec-from-thread", &path, "late", "1"];
    let (document, output) = folder.traced(&["--trace", &path], &words);
    assert_eq!((starts(&document), output.status.code()), (1, Some(0)));
    assert_eq!(execs(&document), [(path.clone(), path)]);
}

/// The exec that fails belongs to the same process, but it is not the one with which the start begins.
#[test]
fn a_failing_exec_by_another_thread_takes_no_start_away() {
    let Some(folder) = Folder::new() else { return };
    let (Some(tracee), Some(path)) =
        (folder.copy("watched.c", "tree"), folder.copy("three_calls.S", "wanted"))
    else {
        return;
    };
    let (document, _) = folder.traced(&["--trace", &path], &[&tracee, "exec-beside-failing", &path]);
    assert_eq!((starts(&document), numbers(&document)), (1, vec![1]));
}

/// While the execs fail, more threads than the kernel side has slots for make calls. The run of the last exec knows nothing of
/// these calls.
#[test]
fn calls_of_threads_during_failing_execs_are_no_part_of_the_start() {
    let Some(folder) = Folder::new() else { return };
    let (Some(tree), Some(path)) = (folder.copy("watched.c", "tree"), folder.copy("watched.c", "wanted"))
    else {
        return;
    };
    let Some(mut tracer) = attach(&path) else { return };
    tracer.follow(Scope::default());
    let mut run = Command::new(&tree);
    run.args(["exec-after-failing", &path, "late", "1"]).stdout(Stdio::null());
    assert_eq!(run.status().unwrap().code(), Some(0));
    let start = look_until_ended(&mut *tracer);
    assert_eq!((start.number, start.recording.lost), (1, 0));

    // the last exec that fails returns 20 ms before
    let then = Nanos(start.recording.events[0].at.0 - 10_000_000);
    let early = start.recording.events.iter().filter(|event| match &event.kind {
        EventKind::Call(call) => call.entered < then,
        EventKind::OffCpu(off) => (Nanos(1)..then).contains(&off.left),
        _ => false,
    });
    assert_eq!(early.count(), 0);
}

/// A parent that ignores SIGCHLD is not told of the end.
#[test]
fn a_start_ends_even_if_nobody_is_told() {
    let Some(folder) = Folder::new() else { return };
    let (Some(tracee), Some(path)) = (folder.copy("watched.c", "tree"), folder.copy("watched.c", "untold"))
    else {
        return;
    };
    let (document, _) =
        folder.traced(&["--trace", "untold"], &[&tracee, "ignoring", "1", &path, "late", "1"]);
    assert_eq!((starts(&document), numbers(&document)), (1, vec![1]));
    assert_eq!(document["results"][0]["exit_codes"], json!([0]));
}

#[test]
fn what_was_not_traced_is_said() {
    let Some(folder) = Folder::new() else { return };
    let file = folder.path("none.json");
    let failing = |options: &[&str], words: &[&str]| {
        let output = watch(options, words).output().unwrap();
        (String::from_utf8(output.stderr).unwrap(), output.status.code())
    };
    let export = ["--trace", "nobody-starts-this", "--export-trace", &file];
    let (text, status) = failing(&export, &["true"]);
    assert!(text.contains("error: no start of `nobody-starts-this` was traced: it was not started\nhelp: "));
    assert_eq!((status, Path::new(&file).exists()), (Some(3), false), "{text}");
    let (text, status) = failing(&export[..2], &["true"]);
    assert!(text.contains("warning: no start of `nobody-starts-this` was traced"), "{text}");
    assert_eq!(status, Some(0));

    let Some(path) = folder.copy("watched.c", "runs-on") else { return };
    let script = format!("{path} late 3000 >/dev/null 2>&1 & sleep 0.2");
    let (text, _) = failing(&["--trace", "runs-on"], &["sh", "-c", &script]);
    assert!(text.contains("was traced: the last one had not ended when the watch did\nhelp: "), "{text}");
}

#[test]
fn the_median_start_can_be_kept_as_a_recording() {
    let Some(folder) = Folder::new() else { return };
    let Some(path) = folder.copy("writer.c", "kept") else { return };
    let file = folder.path("kept.rec");
    let output = watch(&["--trace", "kept", "--export-trace", &file], &[&path, "write"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut replay = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    let replay = replay.args(["trace", "--json", "--replay", &file]).output().unwrap();
    let document: Value = serde_json::from_slice(&replay.stdout).unwrap();
    assert_eq!(execs(&document), [(path.clone(), path)]);
}

#[test]
fn a_page_is_made_of_the_trace() {
    let Some(folder) = Folder::new() else { return };
    let Some(path) = folder.copy("writer.c", "shown") else { return };
    folder.traced(&["--trace", "shown"], &[&path, "write"]);
    let page = folder.path("page.html");
    let mut report = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    let report = report.args(["report", &folder.path("trace.json"), "-o", &page]).output().unwrap();
    assert!(report.status.success() && PathBuf::from(&page).exists(), "{report:?}");
}

#[test]
fn what_cannot_be_traced_is_refused_in_one_line() {
    let refused = |options: &[&str], status: i32, text: &str| {
        let output = watch(options, &["true"]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(text) && output.status.code() == Some(status), "{stderr}");
    };
    refused(&["--trace", "true", "--backend", "ptrace"], 2, "error: `--trace` needs the bpf backend");
    refused(&["--trace", "true", "--redact"], 2, "cannot be used with");
    refused(&["--trace", ""], 2, "is not the name or the path of a program");
    refused(&["--every", "2"], 2, "--trace <PROGRAM>");
    let Some(folder) = of_nobody() else { return };
    let words = ["./firstbyte", "watch", "--trace", "true", "--", "true"];
    let output = as_nobody(folder.path(), &words).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: `--trace` cannot be used: "), "{stderr}");
    assert!(stderr.contains("help: "), "{stderr}");
}
