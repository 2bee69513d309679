//! Repeats system calls on non-blocking descriptors and after interruptions.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Repeats the call while it is interrupted or would block. Waits for `out` if it would block.
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
        // The next write reports a hang-up or an error.
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(cause) => Err(cause),
    }
}
