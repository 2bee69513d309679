//! Processes that we may not kill: we are nobody, and a set-user-ID program runs as root.

use crate::support::{as_nobody, of_nobody, skipped};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Runs as root, whichever user starts it. It prints, and then waits (`own`) or leaves a waiting process behind.
const WAITS: &str = r#"
#include <string.h>
#include <unistd.h>
int main(int count, char **words)
{
    int own = count > 1 && !strcmp(words[1], "own");
    if (setuid(0))
        return 9;
    write(1, "hello world\n", 12);
    if (own || fork() == 0) {
        setsid();
        sleep(60);
    }
    return 0;
}
"#;

/// The command and the program in a folder, for a user without privileges.
fn prepared() -> Option<tempfile::TempDir> {
    let folder = of_nobody()?;
    let program = folder.path().join("rooted");
    fs::write(folder.path().join("rooted.c"), WAITS).unwrap();
    let built = Command::new("cc").arg("-o").arg(&program).arg(folder.path().join("rooted.c")).status();
    if !built.is_ok_and(|status| status.success()) {
        skipped("`cc` is missing; help: `apt-get install gcc`");
        return None;
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let mounted = as_nobody(folder.path(), &["findmnt", "-n", "-o", "OPTIONS", "-T", "."]).output();
    if mounted.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("nosuid")) {
        skipped("set-user-ID programs get no privilege on this file system (nosuid)");
        return None;
    }
    Some(folder)
}

/// The process that the only error names. It still runs when the command has ended, and is then killed here.
fn named_and_alive(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("warning")).collect();
    let [error, help] = lines[..] else { panic!("{said}") };
    let process = help.rsplit(' ').next().unwrap();
    let begin = format!("error: `rooted` (process {process}) could not be killed and keeps running: ");
    assert!(error.starts_with(&begin) && error.contains("not permitted"), "{said}");
    assert_eq!(help, format!("help: run as root, or kill it by hand: sudo kill -9 {process}"));
    let name = fs::read_to_string(Path::new("/proc").join(process).join("comm")).unwrap_or_default();
    assert_eq!(name, "rooted\n", "the command waited for it");
    assert!(Command::new("kill").args(["-9", process]).status().unwrap().success());
}

#[test]
fn a_survivor_that_we_may_not_kill_is_named_and_not_waited_for() {
    let Some(folder) = prepared() else { return };
    let words = ["./firstbyte", "bench", "--backend", "pipe", "--runs", "1", "./rooted"];
    named_and_alive(&as_nobody(folder.path(), &words).output().unwrap());
}

#[test]
fn a_program_that_we_may_not_kill_is_named_when_its_time_limit_expires() {
    let Some(folder) = prepared() else { return };
    let words =
        ["./firstbyte", "bench", "--backend", "pipe", "--timeout", "3s", "--runs", "1", "./rooted own"];
    named_and_alive(&as_nobody(folder.path(), &words).output().unwrap());
}

#[test]
fn a_trace_of_such_a_program_ends_with_the_same_message() {
    let Some(folder) = prepared() else { return };
    let words = ["./firstbyte", "trace", "--backend", "ptrace", "--timeout", "3s", "--", "./rooted", "own"];
    named_and_alive(&as_nobody(folder.path(), &words).output().unwrap());
}

#[test]
fn an_interruption_beside_such_a_program_is_still_an_interruption() {
    let Some(folder) = prepared() else { return };
    let words = ["./firstbyte", "bench", "--backend", "pipe", "--runs", "1", "./rooted own"];
    let mut command = as_nobody(folder.path(), &words);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let child = crate::support::with_default_signal(libc::SIGTERM, &mut command).spawn().unwrap();
    // Until its `setuid(0)` its real user is still nobody, who may kill it.
    let is_root = |process: &str| {
        let status = fs::read_to_string(Path::new("/proc").join(process).join("status")).unwrap_or_default();
        status.starts_with("Name:\trooted\n") && status.contains("\nUid:\t0\t")
    };
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    while !fs::read_to_string(&children).unwrap().split_whitespace().any(is_root) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .unwrap();

    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("could not be killed and keeps running"), "{said}");
    let process = said.trim().rsplit(' ').next().unwrap();
    assert!(Command::new("kill").args(["-9", process]).status().unwrap().success());
}
