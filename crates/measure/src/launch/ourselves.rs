//! What we do to our own process so that it neither costs nor changes what is measured.

use std::os::fd::RawFd;
use std::sync::Once;

/// Gives this thread a table of descriptors of its own, with that one alone or with none; false where the kernel cannot
/// (before Linux 5.9), and then the table stays as it is.
///
/// While threads share a table, each system call that takes a descriptor counts a reference (`fs/file.c`,
/// `__fget_light`), and what measures would pay for that.
pub fn keep_descriptors(only: Option<RawFd>) -> bool {
    let only = only.map(RawFd::unsigned_abs);
    let unshare = |first: u32, last: u32, flags: u32| {
        // SAFETY: from the first call on it is this thread's own table that is emptied; who has descriptors in it owns them.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) == 0 }
    };
    let after = only.map_or(0, |number| number + 1);
    let unshared = unshare(after, u32::MAX, libc::CLOSE_RANGE_UNSHARE);
    if let Some(before) = only.filter(|_| unshared).and_then(|number| number.checked_sub(1)) {
        unshare(0, before, 0);
    }
    unshared
}

/// Rust ignores SIGPIPE, and what is ignored stays ignored across an exec; a handler does not. So that no child has to
/// reset it, we handle it by doing nothing, which is the same to us: writes fail with EPIPE.
pub fn handle_broken_pipes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| do_nothing_about(libc::SIGPIPE, libc::SIG_IGN));
}

/// From now on a write beyond the limit of a file's size (`ulimit -f`) fails with EFBIG, and says so like any other that
/// fails, instead of ending us by SIGXFSZ (`setrlimit(2)`). What we execute gets the signal as we were given it.
pub fn outlive_file_size_limits() {
    do_nothing_about(libc::SIGXFSZ, libc::SIG_DFL);
}

/// Handles a signal by doing nothing, if it is as `before` says: what we execute has it at its default again.
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
