//! A shell that executes firstbyte leaves its background processes to it. firstbyte must not kill them.

use crate::support::wait_until;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A shell that starts `background`, writes process ids to files, and becomes `firstbyte`.
fn after(folder: &Path, background: &str, arguments: &str) -> Command {
    let script = format!("{background}\nexec \"$0\" {arguments}");
    let mut shell = Command::new("bash");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_firstbyte")]).current_dir(folder);
    shell.stdout(Stdio::null()).stderr(Stdio::piped()).stdin(Stdio::null());
    shell
}

/// Whether the process whose id is in this file is a running `sleep`, which `bash` may be just about to execute. Kills it
/// if it is.
fn alive(file: &Path) -> bool {
    let id = fs::read_to_string(file).unwrap().trim().to_owned();
    let name = || fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    wait_until("it executes `sleep`, or is dead", || name() != "bash\n");
    let name = name();
    let _ = Command::new("kill").args(["-9", &id]).status();
    name == "sleep\n"
}

#[test]
fn a_background_process_from_before_the_exec_keeps_running() {
    let folder = tempfile::tempdir().unwrap();
    for backend in ["auto", "ptrace", "pipe"] {
        let arguments = format!("bench --backend {backend} --runs 2 true");
        let ended = after(folder.path(), "sleep 1000 >/dev/null 2>&1 & echo $! >server", &arguments)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert!(alive(&folder.path().join("server")), "{backend}");
    }
}

#[test]
fn a_process_that_it_starts_later_keeps_running_too() {
    let folder = tempfile::tempdir().unwrap();
    // Its parent ends while firstbyte runs, and it becomes an orphan, like a daemon.
    let background =
        "(while ! [ -e running ]; do sleep 0.01; done; sleep 1000 & echo $! >daemon) >/dev/null 2>&1 &";
    let arguments = "bench --runs 20 --prepare 'touch running' --shell=none 'sh -c \"while ! [ -e daemon ]; do sleep 0.01; done\"'";
    let ended = after(folder.path(), background, arguments).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(alive(&folder.path().join("daemon")));
}

#[test]
fn with_inherited_children_a_command_ends_with_its_own_status() {
    let folder = tempfile::tempdir().unwrap();
    let ended = after(folder.path(), "sleep 1000 >/dev/null 2>&1 & echo $! >server", "bench no-such-program")
        .output()
        .unwrap();
    assert!(alive(&folder.path().join("server")));
    let alone =
        Command::new(env!("CARGO_BIN_EXE_firstbyte")).args(["bench", "no-such-program"]).output().unwrap();
    assert_eq!(ended.status.code(), alone.status.code());
}

#[test]
fn with_inherited_children_a_signal_reaches_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let background = "sleep 1000 >/dev/null 2>&1 & echo $! >server";
    let mut started =
        after(folder.path(), background, "bench --runs 1 'sh -c \"touch running; sleep 1000\"'")
            .spawn()
            .unwrap();
    while !folder.path().join("running").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Command::new("kill").args(["-TERM", &started.id().to_string()]).status().unwrap();
    assert_eq!(started.wait().unwrap().code(), Some(130));
    assert!(alive(&folder.path().join("server")));
}
