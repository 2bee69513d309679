//! `doctor --install` with an apt-get of our own: an installation is never cut off, a download may be.

use crate::support::{skipped, wait_until, with_default_signal, write_executable};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Notes in files how far it came, and by which signal it was ended. If it is slow, it waits for the file `go-on`.
const APT_GET: &str = r#"#!/bin/bash
cd "$NOTES"
stage=install
case "$*" in update|*--download-only*) stage=download;; esac
trap 'touch $stage-cut-off; exit 100' INT TERM HUP PIPE
touch $stage-begun
if [ -e talkative-$stage ]; then head -c 70000000 /dev/zero | tr '\0' y; fi
if [ -e slow-$stage ]; then for n in {1..600}; do [ -e go-on ] && break; sleep 0.1; echo "unpacking $n"; echo >>beats; done; fi
if [ -e failing-$stage ]; then echo "E: no space left" >&2; exit 100; fi
touch $stage-ended
"#;

/// Every package is missing.
const DPKG_QUERY: &str = "#!/bin/sh\nprintf not-installed\n";

/// A folder with both programs; `None`, reported as skipped, for users other than root.
fn prepared(notes: &[&str]) -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() {
        skipped("only root installs packages");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("apt-get", APT_GET), ("dpkg-query", DPKG_QUERY)] {
        write_executable(&folder.path().join(name), text, 0o755);
    }
    for name in notes {
        fs::write(folder.path().join(name), "").unwrap();
    }
    Some(folder)
}

fn installing(folder: &Path) -> Child {
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["doctor", "--install", "--tests"]).env("PATH", path).env("NOTES", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let command = with_default_signal(libc::SIGINT, &mut command);
    with_default_signal(libc::SIGHUP, command).spawn().unwrap()
}

/// Sends a signal once a stage has begun.
fn interrupted_in(folder: &Path, stage: &str, signal: rustix::process::Signal) -> Child {
    let mut child = installing(folder);
    while !folder.join(format!("{stage}-begun")).exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
    child
}

/// Lets the installation go on.
fn go_on(folder: &Path) {
    fs::write(folder.join("go-on"), "").unwrap();
}

/// Reads what it says, until it has said this.
fn said_before(child: &mut Child, wanted: &str) -> bool {
    let lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    lines.map_while(Result::ok).any(|line| line.contains(wanted))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_interruption_waits_for_an_installation() {
    use rustix::process::Signal;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let Some(folder) = prepared(&["slow-install"]) else { return };
        let mut child = interrupted_in(folder.path(), "install", signal);
        assert!(said_before(&mut child, "interrupted: waiting until the packages are installed"));
        go_on(folder.path());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(folder.path().join("install-ended").exists());
        assert!(!folder.path().join("install-cut-off").exists());
    }
}

#[test]
fn an_interruption_ends_a_download_and_nothing_is_installed() {
    let Some(folder) = prepared(&["slow-download"]) else { return };
    let child = interrupted_in(folder.path(), "download", rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert!(said(&output).contains("` was interrupted\nhelp: run it again"), "{}", said(&output));
    assert!(folder.path().join("download-cut-off").exists());
    assert!(!folder.path().join("install-begun").exists());
}

#[test]
fn a_talkative_installation_is_not_cut_off() {
    let Some(folder) = prepared(&["talkative-install"]) else { return };
    let output = installing(folder.path()).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(folder.path().join("install-ended").exists());
}

#[test]
fn an_installation_goes_on_when_we_are_killed() {
    let Some(folder) = prepared(&["slow-install"]) else { return };
    interrupted_in(folder.path(), "install", rustix::process::Signal::KILL).wait().unwrap();
    // What it prints then has nowhere to go.
    let printed = || fs::metadata(folder.path().join("beats")).map_or(0, |beats| beats.len());
    let before = printed();
    wait_until("it prints three more lines, or is over", || {
        printed() >= before + 3 || folder.path().join("install-cut-off").exists()
    });
    go_on(folder.path());
    let over = |name: &str| folder.path().join(name).exists();
    wait_until("it is over", || over("install-ended") || over("install-cut-off"));
    assert!(!over("install-cut-off"), "its output has nowhere to go");
}

#[test]
fn a_failed_installation_says_why() {
    let Some(folder) = prepared(&["failing-install"]) else { return };
    let output = installing(folder.path()).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(said(&output).contains("failed: exit status 100: E: no space left\nhelp: "), "{}", said(&output));
}
