//! Unusual surroundings: no `/proc`, an overlay file system, documents that come through pipes.

use crate::bench::firstbyte;
use crate::support::{job_control, skipped};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs a script in a mount namespace of its own, with the command as `$0`; `None`, reported as skipped, without root.
pub(crate) fn in_namespace(folder: &Path, script: &str) -> Option<Output> {
    if !rustix::process::geteuid().is_root() {
        skipped("only root mounts");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-e", "-c", script, env!("CARGO_BIN_EXE_firstbyte")]);
    command.current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache")).stdin(Stdio::null());
    Some(command.output().unwrap())
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn without_proc_bpf_does_not_guess_whose_process_ids_it_sees() {
    let folder = folder();
    let script = "mount -t tmpfs none /proc; exec \"$0\" bench --backend bpf --runs 1 true";
    let Some(output) = in_namespace(folder.path(), script) else { return };
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("`/proc` is missing"), "{}", said(&output));
}

#[test]
fn without_proc_ptrace_is_chosen_where_it_works() {
    let folder = folder();
    let script =
        "mount -t tmpfs none /proc; exec \"$0\" bench --runs 1 --no-counts --export-json out.json true";
    let Some(output) = in_namespace(folder.path(), script) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(document["tool"]["backend"], "ptrace");
}

#[test]
fn on_an_overlay_results_are_replaced_and_runs_are_cold() {
    let folder = folder();
    let script = "mkdir lower upper work merged; cp /bin/echo lower/program; echo old > lower/out.json
        mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work merged 2>/dev/null || exit 77
        cd merged
        \"$0\" bench --runs 2 --export-json out.json './program hello'
        \"$0\" bench --cache cold --runs 2 --export-json cold.json './program hello'
        cp out.json cold.json ..; ls -A > ../names";
    let Some(output) = in_namespace(folder.path(), script) else { return };
    if output.status.code() == Some(77) {
        return skipped("there is no overlay file system");
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.path().join(name)).unwrap()).unwrap()
    };
    assert_eq!(document("out.json")["results"][0]["exit_codes"], serde_json::json!([0, 0]));
    assert_eq!(document("cold.json")["results"][0]["cold"]["resident_pages"], 0);
    assert_eq!(fs::read_to_string(folder.path().join("names")).unwrap(), "cold.json\nout.json\nprogram\n");
}

#[test]
fn programs_that_crash_write_no_core_files() {
    let program = "sh -c 'test $(ulimit -c) = 0'";
    let script = format!(
        "ulimit -S -c $(ulimit -H -c); exec {} bench --runs 1 --no-counts \"$0\"",
        env!("CARGO_BIN_EXE_firstbyte")
    );
    let output = Command::new("bash").args(["-c", &script, program]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn documents_and_budgets_may_come_through_pipes() {
    let folder = folder();
    let made = firstbyte(folder.path(), &["bench", "--runs", "2", "--export-json", "a.json", "true"]);
    assert!(made.status.success(), "{}", said(&made));
    fs::write(folder.path().join("budgets"), "[[program]]\ncommand = 'true'\ntotal = '10s'\n").unwrap();
    let script = "\"$0\" compare <(cat a.json) <(cat a.json) && \"$0\" check --file <(cat budgets)";
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_firstbyte")]).current_dir(folder.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

/// The commands before and after each run see the files themselves. A copy of the new file is mounted for the next run.
#[test]
fn commands_between_cold_runs_may_replace_the_files_of_the_program() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("count", "0\n");
    write("removed", "content\n");
    let options = ["bench", "--cache", "cold", "--runs", "3", "--no-counts", "--warmup", "1"];
    let prepare = "read n < count; echo $((n + 1)) > fresh; mv fresh count; echo made > removed";
    let hooks = ["--prepare", prepare, "--conclude", "rm removed", "--cleanup", "mv count last"];
    let program = "sh -c 'cat removed; cat count >> seen'";
    let arguments = [&options[..], &hooks, &["--export-json", "out.json", program]].concat();
    let output = firstbyte(folder.path(), &arguments);
    if output.status.code() == Some(4) {
        return skipped(said(&output).trim());
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));

    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let runs: Vec<u32> = read("seen").lines().map(|line| line.parse().unwrap()).collect();
    assert!(runs.len() >= 6 && runs.iter().copied().eq(1..=u32::try_from(runs.len()).unwrap()), "{runs:?}");
    assert_eq!(read("last").trim(), runs.len().to_string());
    assert!(!folder.path().join("count").exists() && !folder.path().join("removed").exists());
    let document: serde_json::Value = serde_json::from_str(&read("out.json")).unwrap();
    let result = &document["results"][0];
    assert_eq!((&result["rejected"], &result["cold"]["resident_pages"]), (&serde_json::json!([]), &0.into()));
    let left = result["cold"]["left_warm"].as_array().unwrap();
    let names: Vec<_> = left.iter().map(|path| path.as_str().unwrap().rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["seen", "removed"]);
}

/// An interactive shell in the background of a terminal is stopped (SIGTTIN), unless it has no terminal.
#[test]
fn programs_have_no_controlling_terminal_but_that_of_a_pty() {
    let folder = folder();
    for (options, terminals) in [("--backend ptrace", "0"), ("--backend pipe", "0"), ("--output pty", "1")] {
        let file = folder.path().join("seen").display().to_string();
        let is_there = format!("bash --norc -ic 'true </dev/tty && echo 1 >{file} || echo 0 >{file}'");
        let script =
            format!("\"$0\" bench --shell=sh {options} --no-counts -r 2 \"{is_there}\" >{file}.said 2>&1");
        let (mut shell, mut ours, theirs) = job_control(&script);
        drop(theirs);
        // EIO, once nobody has the other end any more
        let _ = ours.read_to_end(&mut Vec::new());

        let said = fs::read_to_string(format!("{file}.said")).unwrap();
        assert!(shell.wait().unwrap().success(), "{options}: {said}");
        assert_eq!(fs::read_to_string(&file).unwrap().trim(), terminals, "{options}: {said}");
    }
}
