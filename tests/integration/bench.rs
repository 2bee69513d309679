//! `firstbyte bench` from the outside: which commands run, in which order, and the output.

use crate::support::{with_default_signal, write_executable};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use unicode_width::UnicodeWidthStr;

/// Runs the command in a folder, with the best backend that works here.
pub(crate) fn firstbyte(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.current_dir(folder).args(arguments).env("FIRSTBYTE_CACHE", folder.join("cache"));
    command.output().unwrap()
}

/// The exported JSON and the exit status.
pub(crate) fn exported(folder: &Path, arguments: &[&str]) -> (Value, Option<i32>) {
    let all = [&["bench", "--no-overhead", "--export-json", "-"], arguments].concat();
    let output = firstbyte(folder, &all);
    let said = String::from_utf8_lossy(&output.stderr);
    let document = serde_json::from_slice(&output.stdout);
    (document.unwrap_or_else(|error| panic!("{error}: {said}")), output.status.code())
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

const FAST: [&str; 4] = ["--runs", "4", "--no-counts", "--warmup=0"];

fn fast(arguments: &[&str]) -> Vec<String> {
    FAST.iter().chain(arguments).map(ToString::to_string).collect()
}

fn measured(arguments: &[&str]) -> (Value, Option<i32>) {
    let words = fast(arguments);
    exported(folder().path(), &words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn the_export_has_every_field_of_hyperfines_and_ours() {
    let (document, status) = measured(&["true", "-n", "nothing", "-n", "greeting", "echo hi"]);
    assert_eq!(status, Some(0));
    assert_eq!(document["schema"], "firstbyte/1");
    assert_eq!(document["results"].as_array().unwrap().len(), 2);
    for result in document["results"].as_array().unwrap() {
        for field in ["mean", "stddev", "median", "cpu", "min", "max"] {
            assert!(result[field].is_f64(), "{field}: {result}");
        }
        let is_divided = result["user"].is_f64() && result["system"].is_f64();
        assert_ne!(is_divided, result["undivided"].is_string(), "{result}");
        assert_eq!(result["times"].as_array().unwrap().len(), 4);
        assert_eq!(result["exit_codes"], serde_json::json!([0, 0, 0, 0]));
        assert_eq!(result["phases"]["total"]["samples"].as_array().unwrap().len(), 4);
        let watched = document["tool"]["backend"] != "ptrace";
        assert_eq!(result["context_switches"].as_array().map(Vec::len), watched.then_some(4), "{result}");
    }
    let greeting = &document["results"][1];
    assert_eq!((&greeting["name"], &greeting["command"]), (&"greeting".into(), &"greeting".into()));
    assert_eq!(greeting["command_line"], "echo hi");
    assert_eq!(greeting["output"]["bytes"], 3);
    assert_eq!(greeting["relative"][0]["reference"], "nothing");
    assert_eq!(greeting["relative"][0]["verdict"], "cant_tell", "four pairs are not enough");
    assert!(document["results"][0]["relative"].is_null());
}

#[test]
fn every_round_runs_every_command_and_hooks_run_around_each() {
    let folder = folder();
    let words = fast(&[
        "--prepare",
        "printf '<{n}'$HYPERFINE_ITERATION >> log",
        "--conclude",
        "printf '>' >> log",
        "-L",
        "n",
        "a,b,c",
        "--setup",
        "printf 's' >> log",
        "--cleanup",
        "printf 'c' >> log",
        "sh -c 'printf {n}$HYPERFINE_ITERATION >> log'",
    ]);
    let (document, status) = exported(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((status, document["results"][2]["parameters"]["n"]["value"].as_str()), (Some(0), Some("c")));
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let runs = log.strip_prefix("sss").unwrap().strip_suffix("ccc").unwrap();
    let runs: Vec<&str> = runs.split_inclusive('>').collect();
    assert_eq!(runs.len(), 4 * 3, "no warm-up, no run besides those asked for: {log}");
    for (round, ran) in runs.chunks(3).enumerate() {
        let distinct: BTreeSet<String> = ran.iter().map(|run| (*run).to_owned()).collect();
        let expected = ["a", "b", "c"].map(|n| format!("<{n}{round}{n}{round}>"));
        assert_eq!(distinct.into_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn runs_are_numbered_as_in_hyperfine_2() {
    let folder = folder();
    let number = "echo $HYPERFINE_ITERATION >> log";
    let words =
        ["--warmup=1", "--runs", "2", "--no-counts", "--prepare", number, "--conclude", number, "true"];
    assert_eq!(exported(folder.path(), &words).1, Some(0));
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let warmup = lines.iter().take_while(|line| line.starts_with("warmup-")).count();
    assert!(warmup >= 2 && lines[..2] == ["warmup-0"; 2], "{log}");
    assert_eq!(lines[warmup..], ["0", "0", "1", "1"], "{log}");
}

#[test]
fn a_program_that_keeps_running_is_measured_until_its_text_and_then_stopped() {
    let folder = folder();
    let program = "sh -c 'echo $$ > pid; echo wait; echo ready; exec sleep 1000'";
    let words = fast(&["--until", "ready", program]);
    let (document, status) = exported(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((status, &document["results"][0]["exit_codes"][0]), (Some(0), &Value::Null));
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    let command = fs::read_to_string(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
    assert!(!command.contains("sleep"), "it was stopped");
}

#[test]
fn a_text_of_two_lines_is_found_in_the_output_of_a_terminal() {
    for output in ["pipe", "pty"] {
        let until =
            ["--output", output, "--until", "one\ntwo", "sh -c 'echo one; echo two; exec sleep 1000'"];
        let (document, status) = measured(&until);
        assert_eq!((status, &document["results"][0]["exit_codes"][0]), (Some(0), &Value::Null), "{document}");
    }
}

#[test]
fn a_program_that_never_prints_the_text_has_failed() {
    let (document, status) = measured(&["--until", "ready", "echo no"]);
    assert_eq!(status, Some(3));
    assert_eq!(document["failed"][0]["reason"], "it ended before it printed `ready`");
}

#[test]
fn a_failing_program_fails_alone_and_can_be_accepted() {
    let (document, status) = measured(&["false", "true"]);
    assert_eq!(status, Some(3));
    assert_eq!(
        (document["failed"][0]["name"].as_str(), &document["results"][0]["name"]),
        (Some("false"), &"true".into())
    );
    let (document, status) = measured(&["-i", "sh -c 'exit 7'"]);
    assert_eq!((status, &document["results"][0]["exit_codes"][3]), (Some(0), &7.into()));
}

#[test]
fn a_failing_hook_is_reported_and_the_cleanup_still_runs() {
    let (document, status) = measured(&["--prepare", "echo broken >&2; exit 4", "true"]);
    assert_eq!(status, Some(3));
    let reason = document["failed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("which runs before each run, failed: exit status 4: broken"), "{reason}");
    let folder = folder();
    let output =
        firstbyte(folder.path(), &["bench", "--setup", "false", "--cleanup", "touch cleaned", "true"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(folder.path().join("cleaned").exists());
}

#[test]
fn every_run_reads_the_input_from_its_beginning() {
    let folder = folder();
    fs::write(folder.path().join("in"), "12345").unwrap();
    let words = fast(&["--input", "in", "cat"]);
    let (document, _) = exported(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    let result = &document["results"][0];
    assert_eq!((&result["output"]["bytes"], &result["rejected"]), (&5.into(), &serde_json::json!([])));
}

#[test]
fn a_program_sees_a_terminal_only_with_the_option_for_it() {
    let program = "sh -c 'test -t 1 && echo terminal || echo none'";
    for (kind, bytes) in [("pty", 9), ("pipe", 5), ("file", 5)] {
        let (document, _) = measured(&["--output", kind, program]);
        assert_eq!(document["results"][0]["output"]["bytes"], bytes, "{kind}");
    }
}

#[test]
fn the_subtracted_command_is_measured_and_subtracted() {
    let (document, status) = measured(&["--subtract", "true", "sh -c 'exit 0'"]);
    assert_eq!((status, document["results"].as_array().unwrap().len()), (Some(0), 2));
    let above = &document["results"][0]["above"][0];
    assert_eq!((above["baseline"].as_str(), above["of"].as_str()), (Some("true"), Some("total")));
    assert!(above["low"].as_f64() <= above["median"].as_f64());
}

#[test]
fn other_tools_read_our_exports() {
    let folder = folder();
    let table = [
        ("--export-csv", "command,mean,stddev,median,user,system,min,max,name,"),
        ("--export-markdown", "| program | total (median) | total (95 % interval) |"),
        ("--export-asciidoc", "[cols=\"1*<,"),
    ];
    for (option, beginning) in table {
        let words = fast(&[option, "-", "true"]);
        let words: Vec<&str> = ["bench"].into_iter().chain(words.iter().map(String::as_str)).collect();
        let text = String::from_utf8(firstbyte(folder.path(), &words).stdout).unwrap();
        assert!(text.starts_with(beginning), "{option}: {text}");
    }
    let json = |option| -> Value {
        let words = ["bench", "--runs", "4", "--no-overhead", option, "-", "echo hi"];
        serde_json::from_slice(&firstbyte(folder.path(), &words).stdout).unwrap()
    };
    let bencher = json("--export-bencher");
    assert!(bencher["echo hi"]["latency"]["value"].is_f64(), "{bencher}");
    assert!(bencher["echo hi"]["syscalls"]["value"].is_u64() || bencher["echo hi"]["syscalls"].is_null());
    let action = json("--export-benchmark-action");
    let first = &action[0];
    assert_eq!((first["name"].as_str(), first["unit"].as_str()), (Some("echo hi: first byte"), Some("ns")));
    assert!(first["value"].is_f64());
}

#[test]
fn a_bench_that_any_signal_ends_keeps_the_finished_rounds_and_says_so() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        let folder = folder();
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        let words = ["bench", "--no-overhead", "--export-json", "out.json", "--runs", "100000", "--cleanup"];
        command.current_dir(folder.path()).args(words).args(["touch cleaned", "sh -c 'echo x >> ran'"]);
        let mut child = with_default_signal(signal, command.stdout(Stdio::null())).spawn().unwrap();
        while fs::metadata(folder.path().join("ran")).map_or(0, |found| found.len()) < 400 {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }

        let pid = rustix::process::Pid::from_child(&child);
        let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal:?}");
        let document = fs::read(folder.path().join("out.json")).unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        assert_eq!(document["partial"], true);
        assert!(!document["results"][0]["times"].as_array().unwrap().is_empty());
        assert!(folder.path().join("cleaned").exists(), "the hooks run");
    }
}

#[test]
fn wrong_usage_ends_with_status_2_and_a_help_line() {
    let table: [&[&str]; 7] = [
        &["bench", "--export-json", "-", "--export-csv", "-", "true"],
        &["bench", "'open"],
        &["trace", "--backend", "pipe", "--", "true"],
        &["bench", "-m", "9", "-M", "3", "true"],
        &["bench", "--until", "x", "--output", "null", "true"],
        &["bench", "-S", "bash", "true"],
        &["bench", "--export-json", "no/such/folder/x", "true"],
    ];
    for words in table {
        let output = firstbyte(folder().path(), words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains("\nhelp: "), "{said}");
    }
}

#[test]
fn a_closed_stdout_is_an_error_before_the_first_run() {
    let folder = folder();
    for arguments in ["bench --runs 1 'touch ran'", "showdown --list", "--version"] {
        let script = format!("exec {} {arguments} >&-", env!("CARGO_BIN_EXE_firstbyte"));
        let ran = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        assert_eq!(ran.status.code(), Some(4), "{arguments}: {ran:?}");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        let expected =
            "error: cannot write `/dev/stdout`: it is closed\nhelp: give it a target, such as `>FILE`\n";
        assert!(said == expected || arguments == "--version", "{arguments}: {said}");
    }
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn a_single_run_has_neither_an_interval_nor_a_spread() {
    let words = ["bench", "--runs", "1", "--no-counts", "--warmup=0", "true", "echo hi"];
    let ran = firstbyte(folder().path(), &words);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(!text.contains('±') && !text.contains("99 %"), "{text}");
    assert!(!text.contains("1 pairs") && !text.contains("1 blocks"), "{text}");
    assert!(text.contains("can't tell: too few runs") && text.contains("1 pair"), "{text}");
}

#[test]
fn the_memory_of_every_run_is_known_even_for_programs_smaller_than_firstbyte() {
    let (document, _) = exported(folder().path(), &["--runs", "3", "echo hi"]);
    let result = &document["results"][0];
    if result["counts"]["syscalls"].is_null() {
        return crate::support::skipped("counting runs do not work here");
    }
    let memory = result["memory_usage_byte"].as_array().unwrap();
    assert!(memory.len() == 3 && memory.iter().all(|bytes| bytes.as_u64() > Some(0)), "{memory:?}");
}

#[test]
fn a_write_by_io_uring_is_counted_if_it_is_seen() {
    let Some(program) = crate::tracees::built("uring.c") else { return };
    let (document, status) = exported(folder().path(), &["--runs", "3", program.to_str().unwrap()]);
    if status != Some(0) || document["tool"]["backend"] != "bpf" {
        return crate::support::skipped("io_uring or bpf does not work here");
    }
    assert_eq!(document["results"][0]["counts"]["writes"], 1);
}

#[test]
fn shell_syntax_without_a_shell_is_refused_before_anything_runs() {
    for command in ["true | cat", "true && false", "true > x", "true ; true", "true $HOME", "A=1 true"] {
        let here = folder();
        let ran = firstbyte(here.path(), &["bench", "--runs", "1", "touch made", command]);
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(text.contains("needs a shell for") && text.contains("-S runs it"), "{command}: {text}");
        assert_eq!((ran.status.code(), here.path().join("made").exists()), (Some(2), false));
    }
}

#[test]
fn a_program_that_dies_or_stops_is_reported_in_plain_words() {
    let table = [
        ("sh -c 'kill -SEGV $$'", "it was killed by SIGSEGV instead of ending with exit status 0"),
        ("sh -c 'exit 3'", "it ended with exit status 3 instead of exit status 0"),
        ("sh -c 'kill -STOP $$'", "it stopped itself (SIGSTOP) and was killed"),
    ];
    for (command, reason) in table {
        assert_eq!(measured(&[command]).0["failed"][0]["reason"], reason);
    }
}

#[test]
fn ignored_failures_by_a_signal_are_counted_with_its_name_and_help() {
    let every_second = "sh -c 'if test -e dies; then rm dies; kill -SEGV $$; fi; touch dies'";
    for (command, said) in [
        ("sh -c 'kill -SEGV $$'", "every run failed (killed by SIGSEGV)"),
        (every_second, "2 of 4 runs failed (killed by SIGSEGV)"),
    ] {
        let here = folder();
        let words = ["bench", "-i", "-r", "4", "-w", "0", "--no-overhead", "--no-counts", command];
        let ran = firstbyte(here.path(), &words);
        assert_eq!(ran.status.code(), Some(0));
        let text = String::from_utf8_lossy(&ran.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("`{command}` (warm): {said} help: see how")), "{text}");
        assert!(text.contains(&format!("ends: firstbyte trace -i -- {command}")), "{text}");
    }
}

/// A real program whose interpreter is replaced by one that does not exist.
fn without_interpreter() -> Option<Vec<u8>> {
    let mut bytes = fs::read("/bin/true").ok()?;
    let place = bytes.windows(12).position(|window| window.starts_with(b"/lib") && window.contains(&b'l'))?;
    bytes[place + 1..place + 4].copy_from_slice(b"nix");
    Some(bytes)
}

#[test]
fn every_backend_reports_why_a_file_cannot_be_executed() {
    let folder = folder();
    let file = |name: &str| folder.path().join(name);
    write_executable(&file("plain"), b"#!/bin/sh\n", 0o644);
    fs::create_dir(file("folder")).unwrap();
    let mut foreign = fs::read(env!("CARGO_BIN_EXE_firstbyte")).unwrap();
    foreign[18..20].copy_from_slice(&0x1234_u16.to_le_bytes()); // e_machine: unassigned
    foreign.truncate(4096);
    write_executable(&file("foreign"), &foreign, 0o755);
    let mut table = vec![
        ("./plain", "not executable"),
        ("./folder", "director"),
        ("./foreign", "is an executable for ELF machine 4660, which this machine does not run"),
        ("./missing", "`./missing`"),
    ];
    match without_interpreter() {
        Some(bytes) => {
            write_executable(&file("orphan"), &bytes, 0o755);
            table.push(("./orphan", "which does not exist"));
        }
        None => crate::support::skipped("/bin/true is not dynamic here"),
    }
    for backend in ["bpf", "ptrace", "pipe"] {
        for (command, clue) in &table {
            let words = ["bench", "--runs", "1", "--backend", backend, command];
            let ran = firstbyte(folder.path(), &words);
            let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
            if ran.status.code() == Some(4) {
                crate::support::skipped(&format!("{backend} does not work here"));
                break;
            }
            let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(ran.status.code() == Some(3) && words.contains(clue), "{backend} {command}: {said}");
        }
    }
}

#[test]
fn a_program_that_prints_a_gibibyte_is_measured_and_its_bytes_counted() {
    let Some(program) = crate::tracees::built("writer.c") else { return };
    let command = format!("{} bulk 1024", program.display());
    for backend in ["auto", "pipe"] {
        let words = ["--runs", "1", "--warmup=0", "--no-counts", "--backend", backend, &command];
        let (document, status) = exported(folder().path(), &words);
        assert_eq!(status, Some(0), "{document}");
        assert_eq!(document["results"][0]["output"]["bytes"], 1_u64 << 30, "{backend}");
    }
}

#[test]
fn an_input_file_is_refused_if_stdin_is_a_terminal() {
    let folder = folder();
    let output = firstbyte(folder.path(), &["bench", "--input", "/dev/null", "--output", "pty", "cat"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("help: leave out --input"));
}

#[test]
fn a_program_may_rewrite_its_file_from_the_beginning() {
    let script = "import os; os.write(1, b'size ?\\nbody\\n'); os.lseek(1, 0, 0); os.write(1, b'size 5\\n')";
    let program = shell_words::join(["python3", "-c", script]);
    let (document, status) = measured(&["--output", "file", &program]);
    assert_eq!(status, Some(0), "{document}");
    assert_eq!(document["results"][0]["output"]["bytes"], 12);
}

/// Ends with the test, whether it passes or fails.
struct Busy(std::process::Child);

impl Busy {
    fn forever() -> Busy {
        Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn other_programs_on_the_processors_are_reported() {
    let _busy = Busy::forever();
    let (document, status) = exported(folder().path(), &["--runs", "200", "--no-counts", "sleep 0.01"]);
    assert_eq!(status, Some(0));
    let warnings = document["warnings"].as_array().unwrap();
    let is_reported =
        |warning: &Value| warning["message"].as_str().unwrap().starts_with("other programs used ");
    assert!(warnings.iter().any(is_reported), "{warnings:?}");
}

#[test]
fn the_bars_and_the_verdicts_are_last_and_fit_a_terminal_of_any_width() {
    for columns in [60, 80, 200] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.args(["bench", "--backend", "ptrace", "--runs", "10", "--no-counts", "--no-overhead"]);
        let output = command.args(["true", "echo hi"]).env("COLUMNS", columns.to_string()).output().unwrap();
        if output.status.code() == Some(4) {
            return crate::support::skipped("programs cannot be traced here");
        }

        let text = String::from_utf8(output.stdout).unwrap();
        let order = ["\n  samples ", "Programs were executed", "Phases, medians", "\nSummary\n"];
        let places = order.map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")));
        assert!(places.is_sorted() && !text[places[3]..].contains("\n\n"), "{text}");
        for line in text.lines() {
            assert!(line.width() <= columns, "more than {columns}: {line}");
        }
    }
}
