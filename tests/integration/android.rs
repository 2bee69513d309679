//! firstbyte as an app of Android, as in Termux: under the filter that kills for a call that it does not list. Every command
//! answers, and says what is missing; none dies by SIGSYS.

#[path = "../android/filter.rs"]
mod filter;

use crate::support::skipped;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Status 0, or 4 with a reason.
const ANSWERS: [&str; 12] = [
    "doctor",
    "elf --message hello -o written",
    "inspect ./hello",
    "lines 3",
    "bench --runs 2 --warmup 0 ./hello",
    "bench --runs 2 --warmup 0 --backend ptrace ./hello",
    "bench --runs 2 --warmup 0 --backend pipe ./hello",
    "trace --runs 1 --backend ptrace ./hello",
    "diff --runs 1 --backend ptrace ./hello ./hello",
    "watch --backend ptrace -- ./hello",
    "floor --quick --only syscalls",
    "showdown --only floor-elf --runs 2",
];

fn as_app(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(arguments.split(' ')).current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache"));
    filter::as_app(command.stdin(Stdio::null())).output().unwrap()
}

#[test]
fn an_app_of_android_gets_an_answer_from_every_command() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let made = as_app(folder.path(), "elf --message hello -o hello");
    if !cfg!(target_feature = "crt-static") {
        return skipped("only the static binary is for Android");
    }
    assert!(made.status.success(), "{made:?}");
    for arguments in ANSWERS {
        let output = as_app(folder.path(), arguments);
        assert_eq!(output.status.signal(), None, "{arguments}");
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let output = as_app(folder.path(), "bench --runs 2 --warmup 0 --cache cold ./hello");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("\nhelp: measure with a warm page cache: a seccomp filter"), "{said}");
}
