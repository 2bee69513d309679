//! Waiting for a descriptor that is non-blocking, and for system calls that a signal interrupted.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Asks again until the answer is neither "interrupted" nor "not now"; while it is the latter, waits for `out`.
pub(super) fn until_ready(
    out: BorrowedFd<'_>,
    mut ask: impl FnMut() -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    loop {
        match ask() {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_for_room(out)?,
            answer => return answer,
        }
    }
}

fn wait_for_room(out: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut asked = [PollFd::from_borrowed_fd(out, PollFlags::OUT)];
    match poll(&mut asked, None) {
        // A hang-up or an error is told by the next write.
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(cause) => Err(cause),
    }
}
