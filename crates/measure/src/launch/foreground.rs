//! A command that runs as a shell would run it: in our process group, with our stdin, stdout and stderr. What it leaves
//! running is the user's.

use super::wait::polled;
use super::{Command, ExitStatus, LaunchError, interrupt};
use crate::clock;
use crate::units::Nanos;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// A command that was started.
#[derive(Debug)]
pub struct Foreground {
    reaper: Reaper,
    /// `None`: it has ended already.
    pidfd: Option<OwnedFd>,
    started: Nanos,
    /// How many signals to us it has heard of.
    passed_on: u32,
}

/// Who learns how the command has ended.
#[derive(Debug)]
enum Reaper {
    /// [`Foreground::wait`].
    Ourselves(Child),
    /// A tracer, which tells us how, and when.
    Tracer(Receiver<(ExitStatus, Nanos)>),
}

impl Foreground {
    /// Starts the command with our environment. `stdout_to_stderr`: our stdout is needed for something else.
    ///
    /// # Errors
    ///
    /// It cannot be executed, or there is no process or descriptor for it.
    pub fn start(command: &Command, stdout_to_stderr: bool) -> Result<Foreground, LaunchError> {
        let mut starting = std::process::Command::new(command.program());
        let mut words = command.argv.iter().map(|word| OsStr::from_bytes(word.as_bytes()));
        if let Some(name) = words.next() {
            starting.arg0(name);
        }
        starting.args(words);
        if stdout_to_stderr {
            starting.stdout(Stdio::from(io::stderr()));
        }

        let started = clock::now();
        let child = starting.spawn().map_err(|cause| refused(command, &cause))?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let pidfd = pidfd.map_err(|cause| LaunchError::Resource {
            what: "a descriptor of the process",
            cause: cause.into(),
        })?;
        let (reaper, pidfd) = (Reaper::Ourselves(child), Some(pidfd));
        // Also those that arrived before it was there are passed on.
        Ok(Foreground { reaper, pidfd, started, passed_on: 0 })
    }

    /// A command that a tracer has started, reaps, and tells the end of.
    pub fn traced(child: &super::Child, ended: Receiver<(ExitStatus, Nanos)>) -> Foreground {
        let pidfd = Pid::from_raw(child.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Foreground { reaper: Reaper::Tracer(ended), pidfd, started: child.spawned, passed_on: 0 }
    }

    /// When it was started.
    pub fn started(&self) -> Nanos {
        self.started
    }

    /// Waits for its end, at most `pause`. Returns how it ended and when we saw that. Signals that only we have got are
    /// passed on to it.
    ///
    /// # Errors
    ///
    /// Its exit status is not available.
    pub fn wait(&mut self, pause: Duration) -> io::Result<Option<(ExitStatus, Nanos)>> {
        self.pass_on_signals();
        match &mut self.reaper {
            Reaper::Ourselves(child) => {
                // Of one that has made us its tracer (`PTRACE_TRACEME`), wait(2) would also report that it stops.
                let [ended] = polled([self.pidfd.as_ref().map_or(-1, AsRawFd::as_raw_fd)], pause);
                let status = if ended { child.try_wait()? } else { None };
                Ok(status.map(|status| (ExitStatus::from_wait(status.into_raw()), clock::now())))
            }
            Reaper::Tracer(ended) => match ended.recv_timeout(pause) {
                Ok(ended) => Ok(Some(ended)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the tracer has lost it")),
            },
        }
    }

    fn pass_on_signals(&mut self) {
        let count = interrupt::count();
        if count == self.passed_on {
            return;
        }
        self.passed_on = count;
        let signal = interrupt::interrupted().filter(|signal| !is_from_terminal(*signal));
        if let (Some(pidfd), Some(signal)) = (&self.pidfd, signal.and_then(Signal::from_named_raw)) {
            // One that has ended needs none. One that has stopped itself hears it once it continues.
            let _ = pidfd_send_signal(pidfd, signal).and_then(|()| pidfd_send_signal(pidfd, Signal::CONT));
        }
    }
}

fn refused(command: &Command, cause: &io::Error) -> LaunchError {
    LaunchError::from_child(command, "execve", cause.raw_os_error().unwrap_or(libc::EINVAL))
}

/// Whether this signal has come from the terminal, which sends it to its whole foreground process group.
fn is_from_terminal(signal: i32) -> bool {
    let Ok(terminal) = File::open("/dev/tty") else { return false };
    // SAFETY: both only ask; the descriptor is ours.
    [libc::SIGINT, libc::SIGQUIT].contains(&signal)
        && unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(words: &[&str]) -> ExitStatus {
        let mut running = Foreground::start(&Command::new(words).unwrap(), true).unwrap();
        loop {
            if let Some((status, at)) = running.wait(Duration::from_millis(50)).unwrap() {
                assert!(at >= running.started());
                return status;
            }
        }
    }

    #[test]
    fn it_ends_with_its_status_and_has_its_arguments() {
        assert_eq!(ended(&["true"]), ExitStatus::SUCCESS);
        assert_eq!(ended(&["sh", "-c", "exit $#", "x", "a", "b", "c"]), ExitStatus::Code(3));
        assert_eq!(ended(&["sh", "-c", "kill -9 $$"]), ExitStatus::Signal(9));
    }

    #[test]
    fn a_file_that_is_no_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        // Written by another process: a child that another test has just forked would keep our descriptor open.
        let script = "echo no program > \"$0\"; chmod 755 \"$0\"";
        assert!(std::process::Command::new("sh").args(["-c", script]).arg(&path).status().unwrap().success());
        let error = Foreground::start(&Command::new(&[&path]).unwrap(), false).unwrap_err();
        assert!(matches!(error, LaunchError::NoFormat { .. }), "{error}");
    }
}
