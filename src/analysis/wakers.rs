//! Which calls end which waits.
//!
//! The kernel says which task ran where a thread was woken. If an interrupt woke it (a timer, a disk, the network), this
//! task has nothing to do with it. So a wait only counts as ended by a call that can end this kind of wait.

use super::step::{Reason, What};
use firstbyte_measure::arch::{Argument, CallFacts, Use, Wait};
use std::sync::Arc;

/// A wait that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleep<'s> {
    pub(super) reason: Reason,
    /// The call in which the thread slept: its name, and the file that it worked on.
    pub(super) call: Option<(&'s str, Option<&'s Arc<str>>)>,
}

/// `signal(7)`, "Sending a signal".
const SIGNALS: &[&str] =
    &["kill", "pidfd_send_signal", "ptrace", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tgkill", "tkill"];
/// They can close the last descriptor of a file: its readers see the end, its locks are released.
const CLOSES: &[&str] = &["close", "close_range", "dup2", "dup3", "shutdown"];
/// They send something, and write to no descriptor in the list of calls.
const SENDS: &[&str] = &["mq_timedsend", "mq_timedsend_time64", "msgsnd"];
const RECEIVES: &[&str] = &[
    "mq_timedreceive",
    "mq_timedreceive_time64",
    "msgrcv",
    "recvfrom",
    "recvmmsg",
    "recvmmsg_time64",
    "recvmsg",
];
const CONNECTS: &[&str] = &["accept", "accept4", "connect"];
const LOCKS: &[&str] = &["fcntl", "fcntl64", "flock"];
const SEMAPHORES: &[&str] = &["ipc", "semctl", "semop", "semtimedop", "semtimedop_time64"];
const FUTEXES: &[&str] = &["futex", "futex_requeue", "futex_time64", "futex_wake"];
/// They hold the lock of a process's address space, or wait for it.
const MEMORY: &[&str] = &[
    "brk",
    "clone",
    "clone3",
    "fork",
    "madvise",
    "mmap",
    "mmap2",
    "mprotect",
    "mremap",
    "munmap",
    "pkey_mprotect",
    "vfork",
];
/// They wait for a disk.
const SYNCS: &[&str] = &["fdatasync", "fsync", "msync", "sync", "sync_file_range", "syncfs"];

/// Inherited descriptors have no path.
const STANDARD: &[&str] = &["stdin", "stdout", "stderr"];

/// Whether a thread that does this can end the wait. `doing` is `None` if the thread has ended and the kernel works on that.
pub(super) fn ends(sleep: &Sleep, doing: Option<&What>) -> bool {
    match doing {
        None | Some(What::Death { .. }) => exit_ends(sleep),
        Some(What::Exec { .. }) => exec_ends(sleep),
        Some(What::Call { name, .. }) if name.starts_with("exit") => exit_ends(sleep),
        Some(What::Call { name, text, file, .. }) => call_ends(sleep, name, text, file.as_ref()),
        Some(What::User | What::Fault(_) | What::Off(_)) => false,
    }
}

impl Sleep<'_> {
    /// The thread slept in a call on a file that has a path, which a disk ends. The path may be that of a named pipe: then
    /// another thread's call on the same file ends it.
    fn path(&self) -> Option<&Arc<str>> {
        let (_, file) = self.call?;
        file.filter(|path| !STANDARD.contains(&&***path) && !path.starts_with("/dev/"))
    }

    /// A lock of a file is not on the disk.
    fn is_for_disk(&self) -> bool {
        let is_lock = self.reason == Reason::For(Wait::FileLock);
        !is_lock && self.path().is_some() || self.call.is_some_and(|(name, _)| SYNCS.contains(&name))
    }

    fn is_in(&self, calls: &[&str]) -> bool {
        self.call.is_some_and(|(name, _)| calls.contains(&name))
    }
}

/// The end of a thread closes its descriptors, releases its locks and tells its parent.
fn exit_ends(sleep: &Sleep) -> bool {
    match sleep.reason {
        Reason::For(Wait::Sleep) => false,
        Reason::For(Wait::Futex | Wait::Child | Wait::Vfork | Wait::Signal | Wait::Semaphore) => true,
        Reason::For(_) => !sleep.is_for_disk(),
        Reason::Kernel => sleep.is_in(MEMORY),
        _ => false,
    }
}

/// An exec closes descriptors, and ends the wait of the process that created its own by `vfork`.
fn exec_ends(sleep: &Sleep) -> bool {
    match sleep.reason {
        Reason::For(Wait::Vfork) => true,
        Reason::For(Wait::Read | Wait::Poll | Wait::Write | Wait::FileLock) => !sleep.is_for_disk(),
        _ => false,
    }
}

fn call_ends(sleep: &Sleep, name: &str, text: &str, file: Option<&Arc<str>>) -> bool {
    let is = |calls: &[&str]| calls.contains(&name);
    let signals = is(SIGNALS);
    if sleep.is_for_disk() {
        return sleep.path().is_some_and(|path| file == Some(path)) && (sends(name) || receives(name));
    }
    match sleep.reason {
        Reason::For(wait) => signals || answers(wait, name, text),
        Reason::Stopped => signals,
        Reason::Kernel => sleep.is_in(MEMORY) && is(MEMORY),
        _ => false,
    }
}

/// Whether a call ends a wait of this kind, other than by a signal.
fn answers(wait: Wait, name: &str, text: &str) -> bool {
    let is = |calls: &[&str]| calls.contains(&name);
    match wait {
        Wait::Read => sends(name) || is(CLOSES),
        Wait::Write => receives(name) || is(CLOSES),
        Wait::Splice => sends(name) || receives(name) || is(CLOSES),
        Wait::Poll => sends(name) || receives(name) || is(CLOSES) || is(CONNECTS) || name == "epoll_ctl",
        Wait::IoUring => sends(name) || receives(name) || is(CLOSES) || is(CONNECTS) || is(FUTEXES),
        Wait::Connection => is(CONNECTS) || is(CLOSES),
        Wait::Futex => is(FUTEXES) && !text.contains("FUTEX_WAIT") && !text.contains("FUTEX_LOCK_PI"),
        Wait::FileLock => is(LOCKS) || is(CLOSES),
        Wait::Semaphore => is(SEMAPHORES),
        Wait::Vfork => name.starts_with("exec"),
        Wait::Child | Wait::Signal | Wait::Sleep => false,
    }
}

/// Operations that an `io_uring` carries out write and read, too.
fn sends(name: &str) -> bool {
    SENDS.contains(&name) || name == "io_uring_enter" || CallFacts::of(name).is_some_and(CallFacts::writes)
}

fn receives(name: &str) -> bool {
    let reads = |call: &CallFacts| call.position(Argument::Descriptor(Use::Reads)).is_some();
    RECEIVES.contains(&name) || name == "io_uring_enter" || CallFacts::of(name).is_some_and(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_uring_sends_and_receives() {
        assert!(SENDS.iter().chain(&["io_uring_enter", "write"]).all(|name| sends(name)));
        assert!(RECEIVES.iter().chain(&["io_uring_enter", "read"]).all(|name| receives(name)));
        assert!(!sends("read") && !receives("write"));
    }

    fn call(name: &str) -> What {
        on_file(name, None)
    }

    fn on_file(name: &str, file: Option<&str>) -> What {
        let file = file.map(Into::into);
        What::Call { name: name.into(), text: String::new(), file, failed: false, code: None }
    }

    /// Whether the second call ends a sleep in the first one.
    fn wakes(asleep: &str, doing: &str) -> bool {
        ends(&Sleep { reason: Reason::of_call(asleep), call: Some((asleep, None)) }, Some(&call(doing)))
    }

    #[test]
    fn only_calls_that_can_end_a_wait_end_it() {
        for (asleep, doing) in [
            ("read", "write"),
            ("read", "sendmsg"),
            ("read", "close"),
            ("recvfrom", "splice"),
            ("poll", "connect"),
            ("epoll_wait", "write"),
            ("epoll_pwait", "exit_group"),
            ("write", "read"),
            ("sendto", "recvmsg"),
            ("futex", "futex"),
            ("wait4", "exit_group"),
            ("waitid", "kill"),
            ("rt_sigtimedwait", "tgkill"),
            ("pause", "exit_group"),
            ("nanosleep", "kill"),
            ("flock", "close"),
            ("accept4", "connect"),
            ("clone", "execve"),
            ("mmap", "munmap"),
        ] {
            assert!(wakes(asleep, doing), "{doing} ends {asleep}");
        }
        for (asleep, doing) in [
            ("read", "mmap"),
            ("read", "openat"),
            ("read", "futex"),
            ("poll", "brk"),
            ("poll", "getpid"),
            ("write", "write"),
            ("wait4", "write"),
            ("futex", "write"),
            ("rt_sigtimedwait", "write"),
            ("pause", "read"),
            ("flock", "read"),
            ("accept4", "newfstatat"),
            ("nanosleep", "write"),
            ("nanosleep", "exit_group"),
            ("fsync", "read"),
            ("openat", "mmap"),
            ("semop", "futex"),
        ] {
            assert!(!wakes(asleep, doing), "{doing} does not end {asleep}");
        }
    }

    #[test]
    fn a_disk_ends_a_read_from_a_file_whatever_another_thread_writes() {
        let path: Arc<str> = "/data/db".into();
        let sleep = Sleep { reason: Reason::For(Wait::Read), call: Some(("read", Some(&path))) };
        assert!(!ends(&sleep, Some(&call("write"))));
        assert!(!ends(&sleep, Some(&call("exit_group"))) && !ends(&sleep, None));
        assert!(ends(&sleep, Some(&on_file("write", Some("/data/db")))), "a named pipe");
        let terminal: Arc<str> = "/dev/pts/1".into();
        let sleep = Sleep { reason: Reason::For(Wait::Read), call: Some(("read", Some(&terminal))) };
        assert!(ends(&sleep, Some(&call("write"))));
    }

    #[test]
    fn who_has_the_lock_of_a_file_ends_the_wait_for_it() {
        let path: Arc<str> = "/var/lib/dpkg/lock".into();
        for name in ["flock", "fcntl"] {
            let sleep = Sleep { reason: Reason::For(Wait::FileLock), call: Some((name, Some(&path))) };
            assert!(ends(&sleep, None) && ends(&sleep, Some(&call("exit_group"))));
            assert!(ends(&sleep, Some(&call("close"))) && ends(&sleep, Some(&on_file("flock", Some(&path)))));
            assert!(!ends(&sleep, Some(&on_file("write", Some(&path)))));
        }
    }

    #[test]
    fn a_thread_that_waits_for_a_futex_wakes_nobody() {
        let sleep = Sleep { reason: Reason::For(Wait::Futex), call: Some(("futex", None)) };
        let doing = |text: &str| What::Call {
            name: "futex".into(),
            text: text.to_owned(),
            file: None,
            failed: false,
            code: None,
        };
        assert!(ends(&sleep, Some(&doing("futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 1"))) && ends(&sleep, None));
        assert!(!ends(&sleep, Some(&doing("futex(0x1, FUTEX_WAIT_PRIVATE, 2, NULL) = 0"))));
    }

    #[test]
    fn what_a_timer_or_a_disk_ends_no_thread_ends() {
        for reason in [Reason::PageRead, Reason::Exec, Reason::Preempted, Reason::Runnable, Reason::Created] {
            let sleep = Sleep { reason, call: None };
            assert!(!ends(&sleep, Some(&call("write"))) && !ends(&sleep, None), "{reason:?}");
        }
        let reading = Sleep { reason: Reason::For(Wait::Read), call: Some(("read", None)) };
        assert!(!ends(&reading, Some(&What::User)), "an interrupt");
    }
}
