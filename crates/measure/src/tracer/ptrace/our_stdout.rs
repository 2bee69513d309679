//! Whether a descriptor of a tracee leads to the stdout that we gave it.

use super::proc::own_proc;
use super::tracee::TracedThread;
use crate::launch::OutputKind;
use crate::launch::ready::{owned, pidfd};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// Identifies the stdout of one run among all files.
#[derive(Debug)]
pub(super) enum OurStdout {
    /// By device and inode. No other program has this pipe, pseudo terminal or unlinked file.
    Inode(u64, u64),
    /// By its open file, through a descriptor of our own. Others have a null device and our own stdout,
    /// too.
    OpenFile(OwnedFd),
    /// It cannot be identified, so only descriptor 1 counts.
    Unknown,
}

/// `KCMP_FILE` of `kcmp(2)`.
const KCMP_FILE: libc::c_int = 0;

impl OurStdout {
    /// The stdout of a tracee that has not executed anything yet: its descriptor 1.
    pub(super) fn of(tracee: TracedThread, kind: OutputKind) -> OurStdout {
        let found = match kind {
            _ if !kind.is_read() => descriptor_one(tracee).ok().map(OurStdout::OpenFile),
            _ if own_proc().is_err() => None,
            _ => inode(tracee, 1).ok().map(|(device, inode)| OurStdout::Inode(device, inode)),
        };
        found.unwrap_or(OurStdout::Unknown)
    }

    /// Whether `descriptor` of a stopped tracee leads there. If the kernel does not say, because we may not read
    /// the tracee's program and therefore not its `/proc` entry, only descriptor 1 does.
    pub(super) fn is_reached_by(&self, tracee: TracedThread, descriptor: u64) -> bool {
        let Ok(descriptor) = i32::try_from(descriptor & 0xffff_ffff) else { return false };
        let answer = match self {
            OurStdout::Inode(device, number) => match inode(tracee, descriptor) {
                Ok(found) => Some(found == (*device, *number)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some(false),
                Err(_) => None,
            },
            OurStdout::OpenFile(ours) => same_file(ours, tracee, descriptor),
            OurStdout::Unknown => None,
        };
        answer.unwrap_or(descriptor == 1)
    }
}

fn inode(tracee: TracedThread, descriptor: i32) -> io::Result<(u64, u64)> {
    let found = fs::metadata(format!("/proc/{}/fd/{descriptor}", tracee.0))?;
    Ok((found.dev(), found.ino()))
}

/// A copy of a tracee's descriptor 1 (`pidfd_getfd(2)`, Linux 5.6).
fn descriptor_one(tracee: TracedThread) -> io::Result<OwnedFd> {
    let process = pidfd(tracee.0)?;
    // SAFETY: plain system call; the descriptor is owned at once.
    unsafe { owned(libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), 1, 0)) }
}

/// `kcmp(2)`; `None` if the kernel does not have it, or refuses.
fn same_file(ours: &OwnedFd, tracee: TracedThread, descriptor: i32) -> Option<bool> {
    let (our_descriptor, theirs) = (ours.as_raw_fd(), descriptor);
    // SAFETY: no pointers.
    let order =
        unsafe { libc::syscall(libc::SYS_kcmp, libc::getpid(), tracee.0, KCMP_FILE, our_descriptor, theirs) };
    match order {
        0 => Some(true),
        1.. => Some(false),
        _ => (io::Error::last_os_error().raw_os_error() == Some(libc::EBADF)).then_some(false),
    }
}
