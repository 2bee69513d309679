//! Pipes from a tracee to us, at few system calls for each run.

use super::diagnosis::LaunchError;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A pipe: our end, to be read by [`read_now`], and the tracee's, which blocks, as a shell's pipe does.
pub(super) type Pipe = (File, OwnedFd);

/// The ends of a pipe that are still open.
pub(super) type Ends = (Option<File>, Option<OwnedFd>);

/// Pipes of the last run. To create and to close two pipes takes a tenth of the time of a run of the smallest program.
static SPARE: Mutex<Vec<Pipe>> = Mutex::new(Vec::new());

/// For stdout and stderr.
const MOST_SPARE: usize = 2;

/// How much a pipe holds, in pages (`pipe(7)`), unless the user has very many of them.
const PAGES: usize = 16;

/// An empty pipe, whether or not a run before had it.
pub(super) fn pipe() -> Result<Pipe, LaunchError> {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    spare.map_or_else(new_pipe, Ok)
}

/// Keeps a pipe for the next run, or returns its ends, to be closed. It must be empty, and runs of this program must leave their
/// pipes alone (see `leaves_pipes` in [`Stdout`](super::stdio::Stdout)).
pub(super) fn keep(ends: Ends) -> Ends {
    match ends {
        (Some(ours), Some(tracees)) if works_as_new(&tracees) => {
            let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.len() == MOST_SPARE {
                return (Some(ours), Some(tracees));
            }
            spare.push((ours, tracees));
            (None, None)
        }
        ends => ends,
    }
}

/// A run may have changed how the tracee's end works (`F_SETFL` in fcntl(2)), which lasts.
fn works_as_new(tracees: &OwnedFd) -> bool {
    // SAFETY: asks for the flags of a descriptor that we own.
    let flags = unsafe { libc::fcntl(tracees.as_raw_fd(), libc::F_GETFL) };
    flags & !libc::O_LARGEFILE == libc::O_WRONLY
}

/// Closes the pipes that no run will use. Others may be running, and then open new ones.
pub(super) fn close_spare() {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// Whether nobody has the other end of a pipe.
pub(super) fn hung_up(ours: RawFd) -> bool {
    let mut asked = libc::pollfd { fd: ours, events: 0, revents: 0 };
    // SAFETY: one valid structure; returns at once.
    unsafe { libc::poll(&raw mut asked, 1, 0) };
    asked.revents & libc::POLLHUP != 0
}

/// Whether a tracee has left its pipe as wide as it was (`F_SETPIPE_SZ` in fcntl(2)).
pub(super) fn is_as_wide(end: RawFd) -> bool {
    // SAFETY: asks for the size of a pipe; the descriptor may be anything.
    let width = unsafe { libc::fcntl(end, libc::F_GETPIPE_SZ) };
    usize::try_from(width) == Ok(PAGES * rustix::param::page_size())
}

fn new_pipe() -> Result<Pipe, LaunchError> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(LaunchError::resource("a pipe"));
    }
    // SAFETY: both were just created and belong to nobody else.
    Ok(unsafe { (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Reads from our end of a pipe without waiting (`RWF_NOWAIT` of preadv2(2), which older kernels refuse for pipes). Fewer
/// bytes than the buffer has room for were all that there were, unless the tracee writes packets (`O_DIRECT` in pipe(2)).
pub(super) fn read_now(pipe: &File, buffer: &mut [u8]) -> io::Result<usize> {
    static MUST_BE_SET: AtomicBool = AtomicBool::new(false);
    // ORDERING: a lone flag that publishes nothing else.
    if !MUST_BE_SET.load(Ordering::Relaxed) {
        match read_without_waiting(pipe, buffer) {
            Err(error) if is_refusal(&error) => MUST_BE_SET.store(true, Ordering::Relaxed),
            answer => return answer,
        }
    }
    // SAFETY: plain fcntl on a descriptor that we own.
    if unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    io::Read::read(&mut &*pipe, buffer)
}

fn is_refusal(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn read_without_waiting(pipe: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let room = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let (at_present_place, flags) = (-1_i64, libc::RWF_NOWAIT);
    // SAFETY: the kernel writes at most the length of the buffer. The place is passed in two words, of which 64-bit kernels
    // use the first.
    let read = unsafe {
        libc::syscall(
            libc::SYS_preadv2,
            pipe.as_raw_fd(),
            &raw const room,
            1,
            at_present_place,
            at_present_place,
            flags,
        )
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Closes descriptors, by one system call for all whose numbers follow each other, as those of a run usually do.
pub(super) fn close_together(descriptors: impl Iterator<Item = OwnedFd>) {
    let mut numbers: Vec<RawFd> = descriptors.map(IntoRawFd::into_raw_fd).collect();
    numbers.sort_unstable();
    for row in numbers.chunk_by(|one, next| one + 1 == *next) {
        if row.len() > 1 && close_range(row[0], row[row.len() - 1]) {
            continue;
        }
        for number in row {
            // SAFETY: it was ours until now, and nothing else closes it.
            drop(unsafe { OwnedFd::from_raw_fd(*number) });
        }
    }
}

/// `close_range(2)`, Linux 5.9.
fn close_range(first: RawFd, last: RawFd) -> bool {
    // SAFETY: the caller owns all of these descriptors, and uses none of them any more.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_read_gives_what_there_is_and_does_not_wait() {
        let (ours, tracees) = pipe().unwrap();
        let mut tracees = File::from(tracees);
        let mut buffer = [0; 8];
        assert_eq!(read_now(&ours, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        tracees.write_all(b"abc").unwrap();
        assert_eq!(read_now(&ours, &mut buffer).unwrap(), 3);
        drop(tracees);
        assert_eq!(read_now(&ours, &mut buffer).unwrap(), 0);
    }

    #[test]
    fn what_a_tracee_changes_on_its_pipe_is_seen() {
        let change = |command, argument: libc::c_int| {
            let (_ours, tracees) = new_pipe().unwrap();
            // SAFETY: plain fcntl on a descriptor that we own.
            assert!(unsafe { libc::fcntl(tracees.as_raw_fd(), command, argument) } >= 0);
            [works_as_new(&tracees), is_as_wide(tracees.as_raw_fd())]
        };
        assert_eq!(change(libc::F_GETFL, 0), [true, true]);
        assert_eq!(change(libc::F_SETFL, libc::O_NONBLOCK), [false, true]);
        assert_eq!(change(libc::F_SETFL, libc::O_DIRECT), [false, true]);
        assert_eq!(change(libc::F_SETPIPE_SZ, 4096), [true, false]);
    }

    #[test]
    fn descriptors_are_closed_whether_or_not_their_numbers_follow_each_other() {
        let is_open = |number: RawFd| {
            // SAFETY: asks about a descriptor.
            unsafe { libc::fcntl(number, libc::F_GETFD) != -1 }
        };
        // Far above what tests beside this one open.
        let duplicate = |pipe: &File, number: RawFd| {
            // SAFETY: a fresh descriptor that is owned at once.
            unsafe { OwnedFd::from_raw_fd(libc::fcntl(pipe.as_raw_fd(), libc::F_DUPFD_CLOEXEC, number)) }
        };
        let (ours, _tracees) = pipe().unwrap();
        for numbers in [[900, 901, 902], [910, 912, 914]] {
            let copies = numbers.map(|number| duplicate(&ours, number));
            assert_eq!(copies.each_ref().map(AsRawFd::as_raw_fd), numbers);
            close_together(copies.into_iter());
            assert!(!numbers.into_iter().any(is_open));
        }
    }
}
