//! A command that runs as a shell would run it: in our process group, with our stdin, stdout and stderr. What it leaves
//! running is the user's.

use super::ready::ChildEnd;
use super::tree::{self, Held};
use super::{Child, Command, ExitStatus, LaunchError, Launcher, Preparation, interrupt};
use crate::clock;
use crate::units::Nanos;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// A command that was started.
#[derive(Debug)]
pub struct Foreground {
    reaper: Reaper,
    started: Nanos,
    /// How many signals to us it has heard of.
    passed_on: u32,
}

/// Who learns how the command has ended.
#[derive(Debug)]
enum Reaper {
    /// [`Foreground::wait`].
    Ourselves(ChildEnd),
    /// A tracer, which tells us how, and when. The process is held, because the tracer may reap it at any time.
    Tracer(Receiver<(ExitStatus, Nanos)>, Option<Held>),
}

impl Foreground {
    /// Starts the command. `stdout_to_stderr`: our stdout is needed for something else.
    ///
    /// # Errors
    ///
    /// It cannot be executed, or there is no process for it.
    pub fn start(command: &Command, stdout_to_stderr: bool) -> Result<Foreground, LaunchError> {
        let mut launcher = Launcher::new(command.clone())?;
        let child = launcher.launch_in_foreground(stdout_to_stderr, Preparation::None)?;
        let reaper = Reaper::Ourselves(ChildEnd::of(child.pid));
        // Also signals that arrived before it was there are passed on.
        Ok(Foreground { reaper, started: child.spawned, passed_on: 0 })
    }

    /// A command that a tracer has started, reaps, and tells the end of.
    pub fn traced(child: &Child, ended: Receiver<(ExitStatus, Nanos)>) -> Foreground {
        let reaper = Reaper::Tracer(ended, tree::hold(child.pid));
        Foreground { reaper, started: child.spawned, passed_on: 0 }
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
            Reaper::Ourselves(end) if end.wait([-1; 3], pause).0 => {
                Ok(Some((reaped(end.child())?, clock::now())))
            }
            Reaper::Ourselves(_) => Ok(None),
            Reaper::Tracer(ended, _) => match ended.recv_timeout(pause) {
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
        let Some(signal) = interrupt::interrupted().filter(|signal| !is_from_terminal(*signal)) else {
            return;
        };
        // One that has ended needs none. One that has stopped itself hears it once it continues.
        for signal in [signal, libc::SIGCONT] {
            match &self.reaper {
                // SAFETY: our own child, which has not been reaped: its id cannot be another's.
                Reaper::Ourselves(end) => unsafe {
                    libc::kill(end.child(), signal);
                },
                Reaper::Tracer(_, held) => held.iter().for_each(|held| held.send(signal)),
            }
        }
    }
}

/// Reaps a child that has ended.
fn reaped(child: i32) -> io::Result<ExitStatus> {
    let mut status = 0;
    // SAFETY: the out-pointer is valid.
    while unsafe { libc::waitpid(child, &raw mut status, libc::__WALL) } != child {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(ExitStatus::from_wait(status))
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
