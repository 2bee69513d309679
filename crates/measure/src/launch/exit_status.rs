//! How a process ended.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a process ended: by exiting, or by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It exited with this status.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ExitStatus {
    /// Exit status 0.
    pub const SUCCESS: ExitStatus = ExitStatus::Code(0);

    /// Decodes the status that `wait4(2)` gives.
    pub fn from_wait(status: i32) -> ExitStatus {
        if libc::WIFSIGNALED(status) {
            ExitStatus::Signal(libc::WTERMSIG(status))
        } else {
            ExitStatus::Code(libc::WEXITSTATUS(status))
        }
    }

    /// Whether it exited with status 0.
    pub fn success(self) -> bool {
        self == ExitStatus::SUCCESS
    }

    /// The exit code; `None` if a signal ended it (as in hyperfine's `exit_codes`).
    pub fn code(self) -> Option<i32> {
        match self {
            ExitStatus::Code(code) => Some(code),
            ExitStatus::Signal(_) => None,
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitStatus::Code(code) => write!(f, "exit status {code}"),
            ExitStatus::Signal(signal) => write!(f, "killed by {}", named(*signal)),
        }
    }
}

impl ExitStatus {
    /// How it ended, as the rest of a sentence: `ended with exit status 3`, `was killed by SIGSEGV`.
    pub fn ending(self) -> String {
        match self {
            ExitStatus::Code(_) => format!("ended with {self}"),
            ExitStatus::Signal(_) => format!("was {self}"),
        }
    }

    /// How it ended, and how it was expected to end.
    pub fn instead_of(self, expected: ExitStatus) -> String {
        let expected = match (self, expected) {
            (ExitStatus::Signal(_), ExitStatus::Code(_)) => format!("ending with {expected}"),
            (_, ExitStatus::Code(_)) => expected.to_string(),
            (_, ExitStatus::Signal(_)) => format!("being {expected}"),
        };
        format!("{} instead of {expected}", self.ending())
    }

    /// The name of the signal that ended it, for messages.
    pub fn signal(self) -> Option<String> {
        match self {
            ExitStatus::Code(_) => None,
            ExitStatus::Signal(signal) => Some(named(signal)),
        }
    }
}

/// `SIGSEGV`, or `signal 40` for one without a name.
pub fn named(signal: i32) -> String {
    signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSYS => "SIGSYS",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGCHLD => "SIGCHLD",
        libc::SIGCONT => "SIGCONT",
        libc::SIGSTOP => "SIGSTOP",
        libc::SIGTSTP => "SIGTSTP",
        libc::SIGTTIN => "SIGTTIN",
        libc::SIGTTOU => "SIGTTOU",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGPROF => "SIGPROF",
        libc::SIGPWR => "SIGPWR",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_complete_a_sentence() {
        let (failed, died) = (ExitStatus::Code(3), ExitStatus::Signal(libc::SIGSEGV));
        let right = ExitStatus::SUCCESS;
        assert_eq!(failed.instead_of(right), "ended with exit status 3 instead of exit status 0");
        assert_eq!(died.instead_of(right), "was killed by SIGSEGV instead of ending with exit status 0");
        assert_eq!(right.instead_of(died), "ended with exit status 0 instead of being killed by SIGSEGV");
    }

    #[test]
    fn signals_have_names_and_real_time_signals_have_numbers() {
        assert_eq!((named(libc::SIGSTOP), named(40)), ("SIGSTOP".to_owned(), "signal 40".to_owned()));
        let stopping = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].map(named);
        assert_eq!(stopping, ["SIGTSTP", "SIGTTIN", "SIGTTOU"]);
    }
}
