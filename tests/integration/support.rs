//! What several subjects need.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Says aloud that this machine cannot run a check; `FIRSTBYTE_REQUIRE=all` makes it a failure.
#[track_caller]
pub(crate) fn skipped(reason: &str) {
    assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none_or(|value| value != "all"), "skipped: {reason}");
    eprintln!("skipped: {reason}");
}

/// The program hears of a signal that we were started to ignore, as what a shell puts in the background is:
/// what is ignored stays ignored through an exec (`execve(2)`), and firstbyte leaves it so.
pub(crate) fn heeding(signal: i32, command: &mut Command) -> &mut Command {
    // SAFETY: signal(2) is all that the child calls.
    unsafe {
        command.pre_exec(move || {
            libc::signal(signal, libc::SIG_DFL);
            Ok(())
        })
    }
}

/// The command in a folder that anybody may use, to be run as a user without any privilege.
pub(crate) fn of_nobody() -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() || firstbyte_measure::launch::find_in_path("setpriv").is_none() {
        skipped("only root can become somebody else, by `setpriv`");
        return None;
    }
    let folder = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_firstbyte"), folder.path().join("firstbyte")).unwrap();
    let may_come = as_nobody(folder.path(), &["./firstbyte", "--version"]).output();
    if !may_come.is_ok_and(|output| output.status.success()) {
        skipped("that user may not come here");
        return None;
    }
    Some(folder)
}

/// A command as that user.
pub(crate) fn as_nobody(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).args(words);
    command.current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache")).stdin(Stdio::null());
    command
}
