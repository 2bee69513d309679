//! Capabilities of firstbyte's own file show their user nothing of other users.

use crate::support::{as_nobody, copy_executable, of_nobody, skipped, wait_until, with_default_signal};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `setcap cap_bpf,cap_perfmon=ep`: the extended attribute in its second form (`capabilities(7)`).
fn give_capabilities(path: &Path) -> bool {
    const REVISION_2_EFFECTIVE: u32 = 0x0200_0001;
    let high = 1 << (38 - 32) | 1 << (39 - 32);
    // permitted and inheritable, the low halves and the high halves
    let words: [u32; 5] = [REVISION_2_EFFECTIVE, 0, 0, high, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let name = c"security.capability".as_ptr();
    // SAFETY: two strings that end in a zero byte, and as many bytes as the given length (`setxattr(2)`).
    unsafe { libc::setxattr(path.as_ptr(), name, bytes.as_ptr().cast(), bytes.len(), 0) == 0 }
}

/// A folder of another user with a firstbyte that has the capabilities. `None`, reported as skipped, if bpf does not work with
/// them.
fn capable() -> Option<tempfile::TempDir> {
    let folder = of_nobody()?;
    if !give_capabilities(&folder.path().join("firstbyte")) {
        skipped("this file system has no capabilities");
        return None;
    }
    let words = ["./firstbyte", "bench", "--backend", "bpf", "--runs", "1", "--no-counts", "true"];
    let tried = as_nobody(folder.path(), &words).output().unwrap();
    if tried.status.success() {
        return Some(folder);
    }
    skipped(&said(&tried));
    None
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a watch of the machine has seen of programs that root and the other user executed meanwhile, each with an argument
/// that only it has. `setpriv` keeps capabilities until its exec, so the program that it executes is not its user's yet when
/// the exec begins; what that executes is.
fn seen_by(mut watch: Command) -> String {
    let watch = with_default_signal(libc::SIGINT, watch.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut watching = watch.spawn().unwrap();
    wait_until("its programs are attached", || is_attached(watching.id()) || has_ended(watching.id()));
    for _ in 0..5 {
        let of_root = Command::new("/bin/sh").args(["-c", ": of-root-alone"]).status().unwrap();
        let theirs =
            as_nobody(Path::new("/"), &["env", "/bin/sh", "-c", ": of-the-other-user"]).status().unwrap();
        assert!(of_root.success() && theirs.success() && watching.try_wait().unwrap().is_none());
    }
    rustix::process::kill_process(Pid::from_child(&watching), Signal::INT).unwrap();
    let output = watching.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether a process has BPF programs attached, by its descriptors.
fn is_attached(process: u32) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut files = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    files.any(|file| file.to_string_lossy().contains("bpf_link"))
}

fn has_ended(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

const WATCH: [&str; 4] = ["watch", "--backend", "bpf", "--export-json=-"];

#[test]
fn capabilities_of_the_file_show_only_the_callers_own_processes() {
    let Some(folder) = capable() else { return };
    let by_file = as_nobody(folder.path(), &[&["./firstbyte"][..], &WATCH].concat());
    let shown = seen_by(by_file);
    assert!(shown.contains("of-the-other-user") && !shown.contains("of-root-alone"), "{shown}");

    let granted =
        ["--ambient-caps", "+bpf,+perfmon", "--inh-caps", "+bpf,+perfmon", env!("CARGO_BIN_EXE_firstbyte")];
    let ambient = as_nobody(folder.path(), &[&granted[..], &WATCH].concat());
    let shown = seen_by(ambient);
    assert!(shown.contains("of-the-other-user") && shown.contains("of-root-alone"), "{shown}");
}

/// A set-user-ID program is another user's from its exec on, also inside the caller's own command.
#[test]
fn capabilities_of_the_file_show_nothing_of_a_set_user_id_program() {
    let Some(folder) = capable() else { return };
    let program = folder.path().join("of-root");
    copy_executable("/bin/sh".as_ref(), &program, 0o4755);
    assert!(program.metadata().unwrap().permissions().mode() & 0o4000 != 0);
    let run = |words: &[&str]| as_nobody(folder.path(), words).output().unwrap();
    let script = ["-p", "-c", "exec 3< /proc/self/status; :"];

    let trace = ["./firstbyte", "trace", "--backend", "bpf", "-r", "1", "--export-json=-", "--", "./of-root"];
    let traced = run(&[&trace[..], &script].concat());
    assert!(!traced.status.success() && said(&traced).contains("has other rights than yours"), "{traced:?}");
    assert!(!String::from_utf8_lossy(&traced.stdout).contains("/proc/self/status"), "{traced:?}");

    let watch = ["./firstbyte", "watch", "--backend", "bpf", "--export-json=out.json", "--", "sh", "-c"];
    let watched = run(&[&watch[..], &["./of-root -p -c 'true; :'; ./firstbyte --version"]].concat());
    assert!(watched.status.success(), "{watched:?}");
    let document: Value = serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap();
    let results = document["results"].as_array().unwrap();
    let names: Vec<&str> = results.iter().filter_map(|row| row["program"].as_str()).collect();
    assert!(names.contains(&"firstbyte") && !names.contains(&"of-root"), "{names:?}");

    let bench =
        ["./firstbyte", "bench", "--backend", "bpf", "--runs", "2", "--no-counts", "./of-root -p -c ':'"];
    let measured = run(&bench);
    assert!(measured.status.success(), "its times are no secret: {measured:?}");
}
