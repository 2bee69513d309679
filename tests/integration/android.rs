//! firstbyte as an app of Android, on this machine's kernel. `make kernels` does the same on emulated arm64.

#[path = "../android/answers.rs"]
mod answers;

use crate::support::skipped;
use std::process::Command;

#[test]
fn an_app_of_android_gets_an_answer_from_every_command() {
    if !cfg!(target_feature = "crt-static") {
        return skipped("only the static binary is for Android");
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let faults = answers::faults(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
        command.current_dir(folder.path()).env("FIRSTBYTE_CACHE", folder.path().join("cache"));
        command
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
