//! Changes to our own process, so that it neither slows down nor changes the programs it measures.

use super::stdio::null;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Gives this thread its own table of descriptors, with only the given one or empty. Returns false if the kernel
/// cannot do that (before Linux 5.9); then the table stays as it is.
///
/// While threads share a table, each system call that takes a descriptor counts a reference (`fs/file.c`,
/// `__fget_light`), and the measuring thread would pay for that.
pub fn keep_descriptors(only: Option<RawFd>) -> bool {
    let only = only.map(RawFd::unsigned_abs);
    let unshare = |first: u32, last: u32, flags: u32| {
        // SAFETY: after the first call only this thread's own table is emptied; other threads keep their
        // descriptors.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) == 0 }
    };
    let after = only.map_or(0, |number| number + 1);
    let unshared = unshare(after, u32::MAX, libc::CLOSE_RANGE_UNSHARE);
    if let Some(before) = only.filter(|_| unshared).and_then(|number| number.checked_sub(1)) {
        unshare(0, before, 0);
    }
    unshared
}

static STDIN_IS_EMPTY: AtomicBool = AtomicBool::new(false);

/// From now on our own stdin is `/dev/null`, for commands that read nothing from it. Programs whose stdin is to be empty inherit
/// it, which saves a system call in each of them. Without the descriptors for it, it stays as it is.
pub fn leave_stdin() {
    if let Ok(null) = null() {
        // SAFETY: replaces a descriptor that the standard library never closes.
        let replaced = unsafe { libc::dup2(null.as_raw_fd(), 0) } == 0;
        // ORDERING: a lone flag, set before any launch.
        STDIN_IS_EMPTY.store(replaced, Ordering::Relaxed);
    }
}

/// Whether our own stdin is `/dev/null`: see [`leave_stdin`].
pub(super) fn has_left_stdin() -> bool {
    STDIN_IS_EMPTY.load(Ordering::Relaxed)
}

/// For a `main` that Rust's standard library did not prepare: a standard stream that is closed becomes `/dev/null`, so that no
/// file opened later gets its number, and a write to a broken pipe fails with EPIPE.
pub fn ready_standard_streams() {
    let mut streams = [0, 1, 2].map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
    // SAFETY: three entries, and no waiting.
    unsafe { libc::poll(streams.as_mut_ptr(), 3, 0) };
    for _ in streams.iter().filter(|stream| stream.revents & libc::POLLNVAL != 0) {
        // SAFETY: a string that lives forever. The lowest free number is that of the first closed stream.
        unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
    }
    // SAFETY: no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Handles SIGPIPE by doing nothing. Rust ignores SIGPIPE, and an ignored signal stays ignored across an exec; a
/// handled one does not. So no child has to reset it, and for us nothing changes: writes fail with EPIPE.
pub fn handle_broken_pipes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| do_nothing_about(libc::SIGPIPE, libc::SIG_IGN));
}

/// From now on a write beyond the file size limit (`ulimit -f`) fails with EFBIG, and is reported like any other
/// failed write, instead of ending us by SIGXFSZ (`setrlimit(2)`). Programs that we execute get the signal's
/// default action.
pub fn outlive_file_size_limits() {
    do_nothing_about(libc::SIGXFSZ, libc::SIG_DFL);
}

/// Handles a signal by doing nothing, if its present action is `before`. Programs that we execute have the default
/// action again.
fn do_nothing_about(signal: libc::c_int, before: libc::sighandler_t) {
    // SAFETY: plain data; the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        if action.sa_sigaction == before {
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn nothing(_: libc::c_int) {}
