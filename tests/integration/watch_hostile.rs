//! `firstbyte watch` with commands that stop themselves.

use crate::support::{copy_executable, skipped, wait_until, with_default_signal};
use crate::tracees::built;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `None`, reported as skipped, if the backend does not work here.
fn watched(folder: &Path, backend: &str, words: &[&str]) -> Option<Child> {
    let start = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.args(["watch", "--backend", backend, "--"]).args(words).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        with_default_signal(libc::SIGTERM, &mut command).spawn().unwrap()
    };
    let tried = start(&["true"]).wait_with_output().unwrap();
    if tried.status.code() == Some(4) {
        skipped(String::from_utf8_lossy(&tried.stderr).trim());
        return None;
    }
    Some(start(words))
}

fn terminate(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

/// Whether a process that works in this folder is in this state: `proc_pid_stat(5)`.
fn one_is(state: &str, folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let mut here = processes.filter(|it| fs::read_link(it.join("cwd")).is_ok_and(|cwd| cwd == folder));
    here.any(|process| {
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(state))
    })
}

#[test]
fn a_signal_ends_a_command_that_has_stopped_itself() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for backend in ["bpf", "ptrace"] {
        let Some(mut child) = watched(folder.path(), backend, &["sh", "-c", "kill -STOP $$"]) else {
            continue;
        };
        // Under ptrace, one that has stopped is in the state of one that its tracer has stopped.
        wait_until("it has stopped", || one_is("T", folder.path()) || one_is("t", folder.path()));
        terminate(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{backend}");
    }
}

/// It has made firstbyte its tracer, so the kernel reports that it stops as it reports an end.
#[test]
fn a_command_that_waits_for_its_tracer_has_not_ended() {
    let Some(tracee) = built("hostile.c") else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    copy_executable(&tracee, &folder.path().join("hostile"), 0o755);
    let Some(mut child) = watched(folder.path(), "bpf", &["./hostile", "traces-and-stops"]) else { return };
    wait_until("it has stopped", || one_is("t", folder.path()));
    // Several looks of firstbyte at its command.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(child.try_wait().unwrap(), None, "firstbyte has taken the stop for an end");
    // The command cannot hear the signal. After a second one, firstbyte no longer waits for it.
    while child.try_wait().unwrap().is_none() {
        terminate(&child);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
}
