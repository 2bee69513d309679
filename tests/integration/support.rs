//! Shared by several modules.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Reports that this machine cannot run a check. With `FIRSTBYTE_REQUIRE=all` that is a failure.
#[track_caller]
pub(crate) fn skipped(reason: &str) {
    assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none_or(|value| value != "all"), "skipped: {reason}");
    eprintln!("skipped: {reason}");
}

/// Waits until something holds, for as long as a busy machine may need.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Copies an executable, in another process. If this one wrote the file, a child that another test has just forked would
/// hold a copy of the descriptor until its exec, and until then nobody could execute the file (ETXTBSY, `execve(2)`).
pub(crate) fn copy_executable(from: &Path, to: &Path, mode: u32) {
    let mut install = Command::new("install");
    let copied = install.arg(format!("--mode={mode:o}")).arg("--").args([from, to]).status();
    assert!(copied.unwrap().success(), "{} to {}", from.display(), to.display());
}

/// Writes an executable, in another process as well.
pub(crate) fn write_executable(path: &Path, contents: impl AsRef<[u8]>, mode: u32) {
    let mut draft = tempfile::NamedTempFile::new().unwrap();
    draft.write_all(contents.as_ref()).unwrap();
    copy_executable(draft.path(), path, mode);
}

/// Restores the default action of a signal in the program. A shell starts background processes with some signals ignored,
/// which stay ignored through an exec (`execve(2)`), and firstbyte does not change that.
pub(crate) fn with_default_signal(signal: i32, command: &mut Command) -> &mut Command {
    // SAFETY: the child calls only signal(2).
    unsafe {
        command.pre_exec(move || {
            libc::signal(signal, libc::SIG_DFL);
            Ok(())
        })
    }
}

/// A copy of the command in a folder that everyone may use, to be run as a user without privileges.
pub(crate) fn of_nobody() -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() || firstbyte_measure::launch::find_in_path("setpriv").is_none() {
        skipped("only root can become another user, with `setpriv`");
        return None;
    }
    let folder = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    copy_executable(env!("CARGO_BIN_EXE_firstbyte").as_ref(), &folder.path().join("firstbyte"), 0o755);
    let has_access = as_nobody(folder.path(), &["./firstbyte", "--version"]).output();
    if !has_access.is_ok_and(|output| output.status.success()) {
        skipped("that user has no access to the folder");
        return None;
    }
    Some(folder)
}

/// A command run by that user.
pub(crate) fn as_nobody(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).args(words);
    command.current_dir(folder).env("FIRSTBYTE_CACHE", folder.join("cache")).stdin(Stdio::null());
    command
}

/// A pseudo terminal in its default mode, of 24 lines and 80 columns: our end and the program's end.
pub(crate) fn terminal() -> (File, OwnedFd) {
    let (mut master, mut slave) = (-1, -1);
    let mut size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let none: *mut libc::c_void = std::ptr::null_mut();
    // SAFETY: two out-pointers and a size that is read. The descriptors are owned immediately and closed on exec.
    unsafe {
        let opened = libc::openpty(&raw mut master, &raw mut slave, none.cast(), none.cast(), &raw mut size);
        assert_eq!(opened, 0);
        for end in [master, slave] {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}

/// A shell with job control on its own terminal, where `$0` is firstbyte. Returns the shell, our end and its end.
pub(crate) fn job_control(script: &str) -> (Child, File, OwnedFd) {
    let (ours, theirs) = terminal();
    let kept = theirs.try_clone().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["--norc", "-ic", script, env!("CARGO_BIN_EXE_firstbyte")]).stderr(Stdio::null());
    shell.stdin(theirs.try_clone().unwrap()).stdout(theirs);
    // SAFETY: the child calls only setsid(2) and ioctl(2).
    unsafe {
        shell.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
    (shell.spawn().unwrap(), ours, kept)
}

/// What a command prints to a terminal, its errors and progress included.
pub(crate) fn on_terminal(mut command: Command) -> String {
    let (mut ours, theirs) = terminal();
    let errors = theirs.try_clone().unwrap();
    command.stdin(Stdio::null()).stdout(theirs).stderr(errors);
    let mut child = command.spawn().unwrap();
    // the terminal's other end must be ours alone
    drop(command);

    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    // EIO: nobody has the other end any more
    while let Ok(length @ 1..) = ours.read(&mut part) {
        all.extend_from_slice(&part[..length]);
    }
    child.wait().unwrap();
    String::from_utf8_lossy(&all).into_owned()
}
