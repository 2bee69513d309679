//! Results survive an interruption, a cleanup that fails, and an export to a file that is read.

use crate::bench::firstbyte;
use crate::support::{wait_until, with_default_signal};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a command in a folder. Its scripts append to the file `ran`.
fn begun(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.current_dir(folder).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    with_default_signal(libc::SIGINT, &mut command).spawn().unwrap()
}

/// Sends SIGINT once the file `ran` has this length. Returns the output and the exit status.
fn interrupted_after(folder: &Path, child: Child, runs: u64) -> (String, Option<i32>) {
    ended_after(folder, child, runs, rustix::process::Signal::INT)
}

fn ended_after(
    folder: &Path,
    mut child: Child,
    runs: u64,
    signal: rustix::process::Signal,
) -> (String, Option<i32>) {
    while fs::metadata(folder.join("ran")).map_or(0, |found| found.len()) < 2 * runs {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, signal).unwrap();
    let output = child.wait_with_output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

#[test]
fn an_interrupted_trace_shows_and_exports_its_finished_runs() {
    use rustix::process::Signal;
    for signal in [Signal::INT, Signal::TERM] {
        a_signal_during_a_trace_keeps_its_finished_runs(signal);
    }
}

fn a_signal_during_a_trace_keeps_its_finished_runs(signal: rustix::process::Signal) {
    let folder = folder();
    let words = ["trace", "-r", "10000", "--export-json", "out.json", "--record", "out.rec", "--timeline"];
    let child = begun(folder.path(), &[&words[..], &["--", "sh", "-c", "echo x >> ran"]].concat());
    // The first block of runs may be untraced or discarded. By then some runs count.
    let (shown, status) = ended_after(folder.path(), child, 200, signal);
    assert_eq!(status, Some(130), "{signal:?}");
    assert!(shown.contains("exit_group"), "{shown}");
    let document: Value = serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(document["partial"], true);
    assert!(document["results"][0]["runs"].as_u64().unwrap() > 0);
    let replayed = firstbyte(folder.path(), &["trace", "--replay", "out.rec"]);
    assert!(replayed.status.success(), "{}", said(&replayed));
}

#[test]
fn an_interrupted_diff_shows_its_finished_runs() {
    let folder = folder();
    let sides = ["sh -c 'echo x >> ran'", "sh -c 'echo y >> ran'"];
    let child = begun(folder.path(), &[&["diff", "-r", "10000"][..], &sides].concat());
    let (shown, status) = interrupted_after(folder.path(), child, 100);
    assert_eq!(status, Some(130));
    assert!(shown.contains("A and B: Interrupted"), "{shown}");
}

#[test]
fn an_interrupted_check_says_so_and_that_no_program_failed() {
    let folder = folder();
    let budgets = "[[program]]\nname = 'slow'\ncommand = \"sh -c 'echo x >> ran; sleep 100'\"\nsyscalls = 1\n\
                   [[program]]\ncommand = 'true'\ntotal = '5s'\n";
    fs::write(folder.path().join("firstbyte.toml"), budgets).unwrap();
    let (shown, status) = interrupted_after(folder.path(), begun(folder.path(), &["check"]), 1);
    assert_eq!(status, Some(130), "{shown}");
    assert!(shown.starts_with("slow\n  not measured: interrupted\n"), "{shown}");
    assert!(shown.ends_with("\n0 budgets, none missed; interrupted\n"), "{shown}");

    let words = ["bench", "sh -c 'echo x >> ran; sleep 100'", "true", "--style", "none"];
    let json = ["--export-json", "out.json"];
    interrupted_after(folder.path(), begun(folder.path(), &[&words[..], &json].concat()), 2);
    let document: Value = serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap();
    assert_eq!((&document["partial"], &document["failed"]), (&Value::Bool(true), &Value::Array(Vec::new())));
    assert_eq!(document["skipped"].as_array().unwrap().len(), 2, "{document}");
}

/// The state of a process, by `proc_pid_stat(5)`.
fn state(process: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().trim().chars().take(1).collect()
}

#[test]
fn a_run_during_which_firstbyte_was_stopped_is_made_again() {
    use rustix::process::{Pid, Signal, kill_process};
    let program = "sh -c 'echo x >> ran; until test -e go; do sleep 0.01; done'";
    for backend in ["auto", "ptrace", "pipe"] {
        let folder = folder();
        let words = ["bench", "--backend", backend, "--runs", "3", "--warmup", "0", "--no-counts"];
        let exported = ["--no-overhead", "--export-json", "out.json", program];
        let child = begun(folder.path(), &[&words[..], &exported].concat());
        wait_until("the first run has begun", || folder.path().join("ran").exists());

        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        wait_until("it has stopped", || state(child.id()) == "T");
        fs::write(folder.path().join("go"), "").unwrap();
        kill_process(Pid::from_child(&child), Signal::CONT).unwrap();

        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{backend}: {}", said(&output));
        let document: Value =
            serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap();
        let (times, rejected) = (&document["results"][0]["times"], &document["results"][0]["rejected"]);
        assert_eq!(times.as_array().unwrap().len(), 3, "{backend}");
        assert_eq!(rejected.as_array().unwrap().len(), 1, "{backend}: {rejected}");
        assert_eq!(rejected[0]["reason"], "firstbyte itself was stopped meanwhile (Ctrl-Z or SIGSTOP)");
    }
}

#[test]
fn a_cleanup_that_fails_or_is_interrupted_loses_no_result() {
    let folder = folder();
    let words = ["bench", "--runs", "3", "--no-counts", "--export-json", "out.json"];
    let output = firstbyte(folder.path(), &[&words[..], &["--cleanup", "exit 4", "true"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let document: Value = serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(document["results"][0]["times"].as_array().unwrap().len(), 3);
    let reason = document["failed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("failed: exit status 4"), "{reason}");
    let child =
        begun(folder.path(), &[&words[..], &["--cleanup", "echo x > ran; sleep 100; : ", "true"]].concat());
    let (shown, status) = interrupted_after(folder.path(), child, 1);
    assert!(status == Some(130) && shown.contains("it was interrupted"), "{status:?} {shown}");
}

#[test]
fn an_export_does_not_replace_a_file_that_is_read() {
    let folder = folder();
    let place = folder.path();
    let bench = ["bench", "--runs", "2", "--no-counts", "--export-json", "results.json", "true"];
    assert!(firstbyte(place, &bench).status.success());
    assert!(firstbyte(place, &["trace", "-r", "1", "--record", "run.rec", "--", "true"]).status.success());
    symlink("results.json", place.join("link")).unwrap();
    for (words, read) in [
        (&["report", "results.json", "-o", "results.json"][..], "results.json"),
        (&["report", "results.json", "-o", "link"], "results.json"),
        (&["elf", "--message-file", "run.rec", "-o", "run.rec"], "run.rec"),
        (&["elf", "--code", "run.rec", "-o", "./run.rec"], "run.rec"),
        (&["trace", "--replay", "run.rec", "--export-json", "run.rec"], "run.rec"),
        (&["diff", "run.rec", "run.rec", "--export-json", "run.rec"], "run.rec"),
    ] {
        let before = fs::read(place.join(read)).unwrap();
        let output = firstbyte(place, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(
            said(&output).contains("is used by this command, and an export would replace it"),
            "{}",
            said(&output)
        );
        assert_eq!(fs::read(place.join(read)).unwrap(), before, "{words:?}");
    }
}

#[test]
fn an_executable_is_written_through_a_link_and_with_the_umask() {
    let folder = folder();
    fs::write(folder.path().join("target"), "").unwrap();
    symlink("target", folder.path().join("link")).unwrap();
    assert!(firstbyte(folder.path(), &["elf", "--message", "x", "-o", "link"]).status.success());
    assert!(folder.path().join("link").is_symlink());
    let written = fs::metadata(folder.path().join("target")).unwrap();
    assert!(written.len() > 100);
    assert_eq!(written.permissions().mode() & 0o100, 0o100, "an old file becomes executable");
    let script = format!("umask 077; exec {} elf --message x -o new", env!("CARGO_BIN_EXE_firstbyte"));
    let mut shell = Command::new("sh");
    assert!(shell.args(["-c", &script]).current_dir(folder.path()).status().unwrap().success());
    assert_eq!(fs::metadata(folder.path().join("new")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn names_and_contents_of_files_are_escaped_before_they_reach_a_terminal() {
    let folder = folder();
    let recording = "{\"schema\":\"firstbyte-recording/1\",\"backend\":\"bpf\",\"command\":[],\"root\":1,\"lost\":0}\n\
                     {\"at\":1,\"pid\":1,\"tid\":1,\"event\":\"\\u001b[2J\"}\n";
    fs::write(folder.path().join("hostile.rec"), recording).unwrap();
    fs::write(folder.path().join("firstbyte.toml"), "[[program]]\n\"x\\u001b[2J\" = 1\n").unwrap();
    for words in [
        &["trace", "--", "/x\u{1b}[2J"][..],
        &["trace", "--replay", "hostile.rec"],
        &["check"],
        &["check", "--file", "a\u{1b}[2J"],
        &["showdown", "--only", "a\u{1b}[2J"],
    ] {
        let output = firstbyte(folder.path(), words);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{words:?}: {:?}", output.status);
        assert!(!output.stderr.contains(&0x1b) && !output.stderr.is_empty(), "{words:?}: {}", said(&output));
    }
}

/// An invocation whose command of `option` has begun; it writes to `begun` and waits.
fn within_hook(folder: &Path, option: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    command.args([
        "bench",
        "--runs",
        "2",
        option,
        "sleep 98751 & touch begun; sleep 98751; touch late",
        "true",
    ]);
    let command = with_default_signal(libc::SIGTERM, &mut command);
    let mut child = with_default_signal(libc::SIGHUP, command).spawn().unwrap();
    while !folder.join("begun").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

/// The ids of the processes with this working folder.
fn working_in(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let here =
        processes.filter(|process| fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder));
    here.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_signal_ends_a_command_around_the_runs_at_once_with_what_it_started() {
    use rustix::process::Signal;
    for (option, signal) in [
        ("--setup", Signal::TERM),
        ("--prepare", Signal::HUP),
        ("--conclude", Signal::TERM),
        ("--cleanup", Signal::HUP),
    ] {
        let folder = folder();
        let child = within_hook(folder.path(), option);
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{option}: {}", said(&output));
        assert!(!folder.path().join("late").exists());
        wait_until("what it started is gone", || working_in(folder.path()).is_empty());
    }
}

#[test]
fn a_setup_that_kills_what_waits_for_it_is_an_error_and_ends() {
    let folder = folder();
    let setup = "kill -9 $PPID; sleep 98754; touch late";
    let output = firstbyte(folder.path(), &["bench", "--runs", "1", "--setup", setup, "true"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("the process that waits for it was killed"), "{}", said(&output));
    wait_until("what it started is gone", || working_in(folder.path()).is_empty());
    assert!(!folder.path().join("late").exists());
}

#[test]
fn a_command_around_the_runs_has_a_time_limit() {
    let folder = folder();
    let words = ["bench", "--hook-timeout", "50ms", "--runs", "1", "--prepare", "sleep 98752", "true"];
    let output = firstbyte(folder.path(), &words);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("did not end within 0.05 s and was killed"), "{shown}");
    wait_until("what it started is gone", || working_in(folder.path()).is_empty());
}

/// A server whose starter ends only after the setup: it is the orphan of a process that is no tracee's.
#[test]
fn a_server_that_a_setup_starts_late_lives_through_the_runs() {
    let folder = folder();
    let setup = "(until test -e ran; do sleep 0.01; done; sleep 98753 & echo $! > server) & true";
    let program = "sh -c 'echo x >> ran; until test -s server; do sleep 0.01; done'";
    for backend in ["auto", "ptrace", "pipe"] {
        for name in ["ran", "server"] {
            let _ = fs::remove_file(folder.path().join(name));
        }
        let words = ["bench", "--backend", backend, "--runs", "3", "--setup", setup, program];
        let output = firstbyte(folder.path(), &words);
        assert!(output.status.success(), "{}", said(&output));
        let server = fs::read_to_string(folder.path().join("server")).unwrap();
        let killed = Command::new("kill").args(["-9", server.trim()]).status().unwrap();
        assert!(killed.success(), "{backend}: it is gone");
    }
}
