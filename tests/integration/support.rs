//! What several subjects need.

use std::os::unix::process::CommandExt;
use std::process::Command;

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
