//! What all modes share with the kernel side: `run.h` in Rust, and memory that both sides map. Tests compare the files.

use super::namespace::Namespace;
use super::owner::Owner;
use super::skipped::programs_may_be_skipped;
use crate::launch::wait::{self, until_reaped};
use crate::launch::{Child, Ended, LaunchError, Launcher, Preparation, Stdout};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::time::Duration;

/// `CALLS`: system-call numbers below this can have a meaning.
pub(super) const CALLS: usize = 512;
/// `PATH_ROOM`.
pub(super) const PATH_ROOM: usize = 256;
/// `CALL_COMPAT`.
pub(super) const CALL_COMPAT: u32 = 0x8000_0000;

/// `struct run`: the head of each mode's session.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) armed_by: u32,
    pub(super) root: u32,
    pub(super) others: i32,
    pub(super) overflown: i32,
    pub(super) exec_begun: u32,
    pub(super) exec_done: u32,
    pub(super) match_inode: u32,
    pub(super) namespace: u32,
    pub(super) level: u32,
    pub(super) twice: u32,
    pub(super) stdout_file: u64,
    pub(super) stdout_inode: u64,
    pub(super) lost: u64,
    pub(super) capabilities: u64,
    pub(super) user: u32,
    pub(super) restricted: u32,
    pub(super) hidden: u32,
    pub(super) padding: u32,
}

/// Nobody is observed yet, and never more than we may look at.
impl Default for Run {
    fn default() -> Run {
        let owner = Owner::of_caller();
        Run {
            armed_by: 0,
            root: 0,
            others: 0,
            overflown: 0,
            exec_begun: 0,
            exec_done: 0,
            match_inode: 0,
            namespace: 0,
            level: 0,
            twice: 0,
            stdout_file: 0,
            stdout_inode: 0,
            lost: 0,
            capabilities: owner.capabilities,
            user: owner.user,
            restricted: owner.restricted.into(),
            hidden: 0,
            padding: 0,
        }
    }
}

thread_local! {
    // SAFETY: gettid has no arguments and no effects.
    static OUR_THREAD: u32 = unsafe { libc::gettid() }.cast_unsigned();
}

impl Run {
    /// The next process that the calling thread creates is the tracee. `reopened`: also counts output that reaches the
    /// stdout's inode through another open file (wrong for a null device, which all processes share).
    pub(super) fn armed(namespace: Namespace, reopened: bool) -> Run {
        let Namespace(namespace) = namespace;
        let twice = u32::from(programs_may_be_skipped());
        Run {
            armed_by: OUR_THREAD.with(|thread| *thread),
            match_inode: u32::from(reopened),
            namespace,
            twice,
            ..Run::default()
        }
    }
}

/// Launches the command that the kernel side waits for, and returns once it has been reaped.
pub(super) fn observed_run(
    launcher: &mut Launcher,
    stdout: &mut Stdout,
    timeout: Option<Duration>,
) -> Result<(Child, Ended), LaunchError> {
    wait::prepare(launcher.watch());
    let child = launcher.launch(stdout, Preparation::None);
    let ended = child.and_then(|child| {
        until_reaped(&child, stdout, launcher.watch(), timeout).map(|ended| (child, ended))
    });
    launcher.learn(stdout);
    ended
}

/// Memory that we share with the kernel side: the value of a one-element array map.
#[derive(Debug)]
pub(super) struct Mapped<T> {
    address: NonNull<T>,
    length: usize,
}

impl<T> Mapped<T> {
    /// Maps the value of a map that was made with `BPF_F_MMAPABLE` and whose one value is a `T`.
    pub(super) fn of(map: BorrowedFd<'_>) -> std::io::Result<Mapped<T>> {
        let length = size_of::<T>().next_multiple_of(rustix::param::page_size());
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh shared mapping of a map made with BPF_F_MMAPABLE, whose one value is a `T`.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, map.as_raw_fd(), 0) };
        match NonNull::new(address.cast::<T>()) {
            Some(address) if address.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => {
                Ok(Mapped { address, length })
            }
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// Its address, which is valid as long as this value.
    pub(super) fn as_ptr(&self) -> *mut T {
        self.address.as_ptr()
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.length) };
    }
}

// SAFETY: the mapping is only touched through `&self` by the one tracer that owns it.
unsafe impl<T> Send for Mapped<T> {}

#[cfg(test)]
mod tests {
    use super::super::c_header::{assert_same_constants, assert_same_layout};
    use super::*;

    #[test]
    fn the_run_and_its_constants_match_run_h() {
        assert_same_constants!(CALLS, PATH_ROOM, CALL_COMPAT);

        assert_same_layout!(
            Run,
            "run",
            [
                armed_by,
                root,
                others,
                overflown,
                exec_begun,
                exec_done,
                match_inode,
                namespace,
                level,
                twice,
                stdout_file,
                stdout_inode,
                lost,
                capabilities,
                user,
                restricted,
                hidden,
                padding
            ]
        );
    }
}
