//! Waits for descriptors and for the end of a process, also where the kernel refuses the calls that do it best: a seccomp
//! filter may forbid `pidfd_open(2)` or `ppoll(2)`, and with a limit of no descriptors, which a tracee can impose on us
//! (`prlimit(2)`), both fail.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// The shortest wait between two checks.
const MIN_PAUSE: Duration = Duration::from_micros(100);

/// The longest wait between two checks where nothing can wake us.
const LOOK: Duration = Duration::from_millis(1);

/// Which of the descriptors has something to read, after waiting at most `pause` for one. Those below 0 have nothing.
/// `None`, after a moment, if the kernel does not say.
pub(super) fn polled<const N: usize>(descriptors: [i32; N], pause: Duration) -> Option<[bool; N]> {
    // a pause must not become a busy loop
    let pause = pause.max(MIN_PAUSE);
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(pause.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: pause.subsec_nanos().into(),
    };
    let polled = poll(descriptors, &raw const time);
    if polled.is_none() {
        crate::clock::pause(pause.min(LOOK));
    }
    polled
}

/// The same without a limit, which needs no timer: until a signal arrives, for which none of them has anything. `None`: the
/// kernel does not say.
pub(super) fn polled_for_long<const N: usize>(descriptors: [i32; N]) -> Option<[bool; N]> {
    poll(descriptors, std::ptr::null())
}

fn poll<const N: usize>(descriptors: [i32; N], time: *const libc::timespec) -> Option<[bool; N]> {
    let mut asked = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: the array is valid for its length, and the time is valid or null; no mask is given.
    let answer = unsafe { libc::ppoll(asked.as_mut_ptr(), N as libc::nfds_t, time, std::ptr::null()) };
    let failed = answer < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EINTR);
    (!failed).then(|| asked.map(|asked| asked.revents != 0))
}

/// A descriptor of a process. It becomes readable when all threads of the process have exited (`pidfd_open(2)`, Linux 5.3).
pub(crate) fn pidfd(process: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the descriptor is owned at once.
    unsafe { owned(libc::syscall(libc::SYS_pidfd_open, process, 0)) }
}

/// # Safety
/// `descriptor` is a system call's result: negative, or a fresh descriptor that nobody else owns.
pub(crate) unsafe fn owned(descriptor: libc::c_long) -> io::Result<OwnedFd> {
    let found = i32::try_from(descriptor).ok().filter(|fd| *fd >= 0);
    let descriptor = found.ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The end of a child of this process that has not been reaped.
#[derive(Debug)]
pub(crate) struct ChildEnd {
    child: i32,
    /// `None`: there is none for us.
    pidfd: Option<OwnedFd>,
}

impl ChildEnd {
    pub(crate) fn of(child: i32) -> ChildEnd {
        ChildEnd { child, pidfd: pidfd(child).ok() }
    }

    /// Its process id.
    pub(super) fn child(&self) -> i32 {
        self.child
    }

    /// Kills it. Somebody else may have reaped it.
    pub(crate) fn kill(&self) {
        let no_details = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: signals; the descriptor refers to this process and to no later one, and `siginfo` may be null.
        unsafe {
            match &self.pidfd {
                Some(pidfd) => {
                    libc::syscall(
                        libc::SYS_pidfd_send_signal,
                        pidfd.as_raw_fd(),
                        libc::SIGKILL,
                        no_details,
                        0,
                    );
                }
                None if !self.has_come() => {
                    libc::kill(self.child, libc::SIGKILL);
                }
                None => {}
            }
        }
    }

    /// Whether it has come, and whether one of the other descriptors may have something to read, after waiting at most
    /// `pause` for one.
    pub(crate) fn wait(&self, others: [i32; 3], pause: Duration) -> (bool, bool) {
        let Some(pidfd) = &self.pidfd else {
            let read = polled(others, pause.min(LOOK));
            return (self.has_come(), read.is_none_or(|read| read.contains(&true)));
        };
        let [output, errors, ready] = others;
        match polled([pidfd.as_raw_fd(), output, errors, ready], pause) {
            Some([ended, others @ ..]) => (ended, others.contains(&true)),
            None => (self.has_come(), true),
        }
    }

    /// A child that somebody else reaps may be gone already. One that only stops has not ended.
    fn has_come(&self) -> bool {
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: plain data; nothing is consumed.
        unsafe {
            let mut state: libc::siginfo_t = std::mem::zeroed();
            let answer = libc::waitid(libc::P_PID, self.child.cast_unsigned(), &raw mut state, options);
            answer != 0 || state.si_pid() == self.child
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn without_a_descriptor_the_end_of_a_child_is_seen_as_well() {
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let end = ChildEnd { pidfd: None, ..ChildEnd::of(child.id().cast_signed()) };
        assert_eq!(end.wait([-1; 3], Duration::from_millis(1)), (false, false));
        drop(child.stdin.take());
        while !end.wait([-1; 3], Duration::from_secs(60)).0 {}
        assert!(child.wait().unwrap().success());
        assert!(end.wait([-1; 3], Duration::ZERO).0, "it was reaped");
    }
}
