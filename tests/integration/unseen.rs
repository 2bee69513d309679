//! Behaviour that programs hide from a tracer, that no tracer can see, or that a tracer changes. It is reported, never
//! guessed.

use crate::bench::firstbyte;
use crate::cold::{folder, measured};
use crate::support::{as_nobody, copy_executable, of_nobody, skipped, write_executable};
use crate::tracees::{built, last_output, launcher, options};
use firstbyte_measure::launch::{ExitStatus, OutputKind};
use firstbyte_measure::timeline::{Timeline, TimelineError};
use firstbyte_measure::tracer::ptrace::{PtraceFull, PtracePhases, count};
use firstbyte_measure::tracer::{EventKind, Tracer};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn cold_as_nobody(folder: &Path, command: &str) -> Output {
    let words = [
        "./firstbyte",
        "bench",
        "--cache",
        "cold",
        "--runs",
        "3",
        "--no-counts",
        "--export-json",
        "-",
        command,
    ];
    as_nobody(folder, &words).output().unwrap()
}

/// Whether that user gets the namespace that cold runs need. Reported as skipped if not.
fn has_cold_runs(output: &Output) -> bool {
    let none = said(output).contains("cannot create a mount namespace");
    if none {
        skipped(said(output).trim());
    }
    !none
}

#[test]
fn a_program_that_may_be_executed_but_not_read_cannot_be_proven_cold() {
    let Some(folder) = of_nobody() else { return };
    copy_executable(Path::new("/bin/sh"), &folder.path().join("closed"), 0o711);
    let script = folder.path().join("script");
    write_executable(&script, format!("#!{}/closed\necho hi\n", folder.path().display()), 0o755);
    for command in ["./closed -c 'echo hi'", "./script"] {
        let output = cold_as_nobody(folder.path(), command);
        if !has_cold_runs(&output) {
            return;
        }
        let said = said(&output);
        assert_eq!(output.status.code(), Some(4), "{command}: {said}");
        let lines: Vec<&str> = said.lines().collect();
        let [line, help] = lines[..] else { panic!("{said}") };
        assert!(
            line.contains("the kernel did not show what `") && line.contains("cannot be made cold"),
            "{said}"
        );
        assert!(help.starts_with("help: run as root, or make the program readable"), "{said}");
    }
}

#[test]
fn a_program_that_hides_the_files_it_opens_is_reported() {
    let (Some(folder), Some(program)) = (of_nobody(), built("secretive.c")) else { return };
    copy_executable(&program, &folder.path().join("secretive"), 0o755);
    fs::write(folder.path().join("data"), "content\n").unwrap();
    let output = cold_as_nobody(folder.path(), "./secretive data");
    if !has_cold_runs(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let doubt = document["results"][0]["cold"]["doubt"].as_str().unwrap_or_default().to_owned();
    assert!(doubt.starts_with("the kernel did not show what `secretive` maps and opens: "), "{doubt}");
}

#[test]
fn a_program_that_may_open_files_by_io_uring_is_reported() {
    let Some(program) = built("uring.c") else { return };
    if Command::new(&program).output().unwrap().status.code() == Some(77) {
        return skipped("the kernel refuses io_uring");
    }
    let folder = folder();
    copy_executable(&program, &folder.path().join("uring"), 0o755);
    let Some(document) = measured(folder.path(), &["--backend", "pipe", "./uring"]) else { return };
    assert_eq!(
        document["results"][0]["cold"]["doubt"],
        "`uring` set up an io_uring, which can open files that a tracer does not see"
    );
}

/// The command with a `/proc` that shows other processes; `None`, reported as skipped, if that is impossible.
fn under_foreign_proc(folder: &Path, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", env!("CARGO_BIN_EXE_firstbyte")]);
    command.args(arguments).current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache"));
    let Ok(output) = command.output() else {
        skipped("there is no `unshare`");
        return None;
    };
    if said(&output).contains("unshare:") {
        skipped(said(&output).trim());
        return None;
    }
    Some(output)
}

#[test]
fn with_the_proc_of_other_processes_nothing_is_counted_and_no_budget_is_met() {
    let folder = folder();
    fs::write(folder.path().join("firstbyte.toml"), "[[program]]\ncommand = \"true\"\npage_faults = 10000\n")
        .unwrap();
    let bench = ["bench", "--runs", "3", "--no-overhead", "--export-json", "-", "true"];
    let Some(output) = under_foreign_proc(folder.path(), &bench) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &document["results"][0];
    let reason = result["uncounted"].as_str().unwrap_or_default();
    assert!(reason.starts_with("`/proc` shows the processes of another namespace; help: "), "{result}");
    assert!(result["counts"]["page_faults"].is_null() && result["counts"]["syscalls"].is_null(), "{result}");
    let Some(output) = under_foreign_proc(folder.path(), &["check", "--count-runs", "1"]) else { return };
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    for arguments in [&["bench", "--cache", "cold", "true"][..], &["trace", "--", "true"]] {
        let Some(output) = under_foreign_proc(folder.path(), arguments) else { return };
        let said = said(&output);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains("`/proc` shows the processes of another namespace\nhelp: "), "{said}");
    }
}

#[test]
fn threads_are_not_processes_even_if_proc_does_not_show_them() {
    let Some(program) = built("writer.c") else { return };
    let folder = folder();
    let command = format!("{} threads 5", program.display());
    let bench =
        ["bench", "--backend", "ptrace", "--runs", "3", "--no-overhead", "--export-json", "-", &command];
    let Some(output) = under_foreign_proc(folder.path(), &bench) else { return };
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let counts = &document["results"][0]["counts"];
    assert_eq!((&counts["processes"], &counts["threads"]), (&1.into(), &6.into()), "{counts}");
}

/// Each child costs four calls, however often the signal of its end interrupts the parent's call.
#[test]
fn a_call_that_an_ignored_signal_interrupts_is_one_call() {
    let Some(mut without) = launcher("interrupted.c", &["0"]) else { return };
    let mut with = launcher("interrupted.c", &["6"]).unwrap();
    let pipe = options(OutputKind::Pipe);
    let (none, _) = count(&mut without, &pipe).unwrap();
    for _ in 0..3 {
        let (some, recording) = count(&mut with, &pipe).unwrap();
        assert_eq!(recording.exit, ExitStatus::SUCCESS);
        assert_eq!(some.syscalls - none.syscalls, 4 * 6);
        assert_eq!(some.bytes_read, none.bytes_read);
    }
}

#[test]
fn an_interrupted_call_is_one_step_of_a_trace() {
    let Some(mut launcher) = launcher("interrupted.c", &["6"]) else { return };
    let recording = PtraceFull::default().run(&mut launcher, &options(OutputKind::Pipe)).unwrap();
    let results = recording.events.iter().filter_map(|event| match &event.kind {
        EventKind::Call(call) => call.result,
        _ => None,
    });
    let broken_off: Vec<i64> = results.filter(|result| (-516..=-512).contains(result)).collect();
    assert_eq!(broken_off, [0_i64; 0], "no program sees these errors");
}

fn bench(folder: &Path, arguments: &[&str]) -> (Value, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["bench", "--no-overhead", "--export-json", "-", "--runs", "3"]).args(arguments);
    let output = command.current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache")).output().unwrap();
    let document = serde_json::from_slice(&output.stdout);
    (document.unwrap_or_else(|error| panic!("{error}: {}", said(&output))), output.status.code())
}

#[test]
fn a_program_that_ends_differently_when_it_is_counted_is_not_counted() {
    let shy = "sh -c 'grep -q \"^TracerPid:.0$\" /proc/self/status || exit 7'";
    let (document, status) = bench(folder().path(), &["--backend", "pipe", "-i", shy]);
    assert_eq!(status, Some(0));
    let result = &document["results"][0];
    let reason = "it ended with exit status 7 instead of exit status 0; it was traced, and a program under ptrace gets no \
                  rights from a set-user-ID bit, and cannot trace another program";
    assert_eq!(result["uncounted"], reason, "{result}");
    assert!(result["counts"]["syscalls"].is_null(), "{result}");
}

#[test]
fn writes_of_both_kinds_are_counted() {
    let Some(program) = built("uring.c") else { return };
    let (document, status) = bench(folder().path(), &[&format!("{} too", program.display())]);
    if status != Some(0) || document["tool"]["backend"] != "bpf" {
        return skipped("io_uring or bpf does not work here");
    }
    assert_eq!(document["results"][0]["counts"]["writes"], 2);
}

#[test]
fn a_backend_that_does_not_see_all_writes_claims_no_first_byte() {
    let mut tracers: [Box<dyn Tracer>; 2] = [Box::new(PtracePhases::new()), Box::new(PtraceFull::default())];
    for output in [OutputKind::Pipe, OutputKind::Null, OutputKind::Pty, OutputKind::File] {
        for tracer in &mut tracers {
            let Some(mut launcher) = launcher("uring.c", &["too"]) else { return };
            let recording = tracer.run(&mut launcher, &options(output)).unwrap();
            if recording.exit == ExitStatus::Code(77) {
                return skipped("the kernel refuses io_uring");
            }
            let answer = Timeline::of(&recording).map(|timeline| timeline.first_byte);
            assert_eq!(answer, Err(TimelineError::Ring), "{output:?}");
        }
    }
}

/// The kernel creates these threads without an event, as it does those of vhost (`PF_USER_WORKER`), and they end with one.
#[test]
fn workers_of_the_kernel_are_no_threads_of_the_program_and_do_not_end_it() {
    let Some(program) = built("uring.c") else { return };
    let folder = folder();
    let (counted, status) = bench(folder.path(), &[&format!("{} polled", program.display())]);
    if status != Some(0) || counted["tool"]["backend"] != "bpf" {
        return skipped("io_uring or bpf does not work here");
    }
    let run = |words: &[&str]| {
        let all = [words, &["--", program.to_str().unwrap(), "polled"]].concat();
        firstbyte(folder.path(), &all)
    };
    let traced: Value =
        serde_json::from_slice(&run(&["trace", "-r", "1", "--export-json", "-"]).stdout).unwrap();
    for counts in [&counted["results"][0]["counts"], &traced["results"][0]["counts"]] {
        assert_eq!(
            (&counts["processes"], &counts["threads"], &counts["writes"]),
            (&json!(1), &json!(1), &json!(1))
        );
    }
    assert_eq!(traced["results"][0]["exit_codes"], json!([0]));
    assert!(!traced["results"][0]["run_phases"]["write"].is_null());

    for backend in ["bpf", "ptrace"] {
        let watched = run(&["watch", "--backend", backend, "--json"]);
        let text = String::from_utf8(watched.stdout).unwrap();
        let document = text.strip_prefix("hello world\n").unwrap_or(&text);
        let document: Value = serde_json::from_str(document).unwrap();
        let totals = &document["totals"];
        let counts =
            ["programs", "execs", "processes", "running", "failed"].map(|name| totals[name].as_u64());
        assert_eq!(counts, [1, 1, 1, 0, 0].map(Some), "{backend}: {totals}");
    }
}

#[cfg(feature = "bpf")]
#[test]
fn the_full_mode_sees_writes_of_both_kinds() {
    use firstbyte_measure::arch::IO_URING_BASE;
    use firstbyte_measure::tracer::bpf::{BpfFull, LARGE_RING};
    let loaded = BpfFull::load(LARGE_RING).and_then(|mut tracer| tracer.attach().map(|()| tracer));
    let mut tracer = match loaded {
        Ok(tracer) => tracer,
        Err(error) => return skipped(&format!("bpf does not work here: {error}")),
    };
    for output in [OutputKind::Pipe, OutputKind::Null, OutputKind::Pty, OutputKind::File] {
        let Some(mut launcher) = launcher("uring.c", &["too"]) else { return };
        let recording = tracer.run(&mut launcher, &options(output)).unwrap();
        if recording.exit == ExitStatus::Code(77) {
            return skipped("the kernel refuses io_uring");
        }
        assert_eq!(last_output(&recording), (2, 12 + 6), "{output:?}");
        let first = recording.events.iter().find_map(|event| match event.kind {
            EventKind::OutputExit { call, result } => Some((call.number, result)),
            _ => None,
        });
        assert_eq!(first, Some((IO_URING_BASE + 23, 12)), "{output:?}");
        assert!(Timeline::of(&recording).unwrap().first_byte.is_some(), "{output:?}");
    }
}
