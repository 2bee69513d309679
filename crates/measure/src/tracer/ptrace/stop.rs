//! Why a tracee stopped, decoded from its wait status (`ptrace(2)`, "Stopped states").

/// A report of `wait4(2)` about a seized thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It has exited or was killed, and we have reaped it.
    Gone,
    /// It enters or leaves a system call.
    Syscall,
    /// The seccomp filter stopped it at the entry of a system call.
    Seccomp,
    /// An exec has succeeded; the old image is gone.
    Exec,
    /// It has created a process or a thread; the event's message is the child's thread id.
    Forked,
    /// It is about to exit; the event's message is its wait status.
    Exiting,
    /// A new tracee's first stop, or a group stop that has ended.
    Started,
    /// A stopping signal has taken effect: the whole process is stopped.
    Group(i32),
    /// A signal is about to be delivered.
    Signal(i32),
}

/// `PTRACE_O_TRACESYSGOOD` marks system-call stops by this bit.
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

impl Stop {
    /// Decodes the status that `wait4(2)` gives.
    pub(super) fn decode(status: i32) -> Stop {
        if !libc::WIFSTOPPED(status) {
            return Stop::Gone;
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => Stop::Seccomp,
            libc::PTRACE_EVENT_EXEC => Stop::Exec,
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => Stop::Forked,
            libc::PTRACE_EVENT_EXIT => Stop::Exiting,
            libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Stop::Started,
            libc::PTRACE_EVENT_STOP => Stop::Group(signal),
            _ if signal == SYSCALL_STOP => Stop::Syscall,
            _ => Stop::Signal(signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(signal: i32, event: i32) -> Stop {
        Stop::decode(event << 16 | signal << 8 | 0x7f)
    }

    #[test]
    fn every_stop_is_distinguished_from_the_others() {
        assert_eq!(Stop::decode(3 << 8), Stop::Gone);
        assert_eq!(Stop::decode(libc::SIGKILL), Stop::Gone);
        assert_eq!(stopped(libc::SIGTRAP | 0x80, 0), Stop::Syscall);
        assert_eq!(stopped(libc::SIGTRAP, 0), Stop::Signal(libc::SIGTRAP));
        assert_eq!(stopped(libc::SIGUSR1, 0), Stop::Signal(libc::SIGUSR1));
        assert_eq!(stopped(libc::SIGSTOP, 0), Stop::Signal(libc::SIGSTOP));
        assert_eq!(stopped(libc::SIGSTOP, libc::PTRACE_EVENT_STOP), Stop::Group(libc::SIGSTOP));
        assert_eq!(stopped(libc::SIGTRAP, libc::PTRACE_EVENT_STOP), Stop::Started);
        assert_eq!(stopped(libc::SIGTRAP, libc::PTRACE_EVENT_EXEC), Stop::Exec);
        assert_eq!(stopped(libc::SIGTRAP, libc::PTRACE_EVENT_SECCOMP), Stop::Seccomp);
        assert_eq!(stopped(libc::SIGTRAP, libc::PTRACE_EVENT_EXIT), Stop::Exiting);
        for event in [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, libc::PTRACE_EVENT_CLONE] {
            assert_eq!(stopped(libc::SIGTRAP, event), Stop::Forked);
        }
    }
}
