//! Runs apt-get. An installation is never cut off: a package that is half unpacked leaves dpkg broken.

use crate::corpus::toolchain;
use firstbyte_measure::launch::{ExitStatus, interrupt, last_line, temporary_file};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

/// How often we check for an interruption.
const SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// What happens to apt-get when somebody interrupts us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    /// It only downloads: it gets the same signal, and continues later where it stopped.
    EndsIt,
    /// It installs: we wait for its end.
    Waits,
}

/// Why a command of apt-get did not succeed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Interrupted,
    /// One line.
    Failed(String),
}

/// Runs a command to its end, without limits of time or output. It asks no questions: its stdin is empty, and debconf
/// uses its defaults. Calls `announce` if it is interrupted and goes on.
pub(super) fn run(
    command: &[String],
    interruption: Interruption,
    announce: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    let failed = |cause: io::Error| Failure::Failed(cause.to_string());
    let interrupted = || interrupt::interrupted().is_some();
    if interrupted() {
        return Err(Failure::Interrupted);
    }

    // A file, not a pipe: if we are killed, apt-get goes on, and a broken pipe would end it.
    let mut messages = temporary_file().map_err(|error| Failure::Failed(error.to_string()))?;
    let mut child = started(command, &messages).map_err(failed)?;

    let waited = wait(&child, interruption, announce);
    let status = child.wait().map_err(failed)?;
    toolchain::forget();
    waited.map_err(failed)?;

    if interrupted() && (interruption == Interruption::EndsIt || !status.success()) {
        return Err(Failure::Interrupted);
    }
    if status.success() {
        return Ok(());
    }
    let exit = ExitStatus::from_wait(status.into_raw());
    Err(Failure::Failed(format!("{exit}: {}", last_line(&mut messages))))
}

/// In a process group of its own, so that the terminal's Ctrl-C does not reach it.
fn started(command: &[String], messages: &File) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut apt = Command::new(program);
    apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").current_dir("/").process_group(0);
    apt.stdin(Stdio::null()).stdout(messages.try_clone()?).stderr(messages.try_clone()?);
    apt.spawn()
}

/// Returns when the command has ended. Does not reap it.
fn wait(child: &Child, interruption: Interruption, announce: &mut dyn FnMut(&str)) -> io::Result<()> {
    let pid = Pid::from_child(child);
    let exit = pidfd_open(pid, PidfdFlags::empty())?;
    let mut noticed = false;
    loop {
        let mut ended = [PollFd::new(&exit, PollFlags::IN)];
        match poll(&mut ended, Some(&SLICE)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            answer => return answer.map(drop).map_err(io::Error::from),
        }
        let Some(signal) = interrupt::interrupted().filter(|_| !noticed) else { continue };
        noticed = true;
        match interruption {
            Interruption::EndsIt => pass_on(signal, pid)?,
            Interruption::Waits => announce("interrupted: waiting until the packages are installed"),
        }
    }
}

fn pass_on(signal: i32, group: Pid) -> io::Result<()> {
    let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
    Ok(kill_process_group(group, signal)?)
}
