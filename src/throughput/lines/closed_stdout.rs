//! Whether we were started without a stdout.
//!
//! Before `main`, the standard library opens `/dev/null` in the place of a standard stream that is closed, so that
//! no file opened later becomes it. Whoever asks later would write its output into nothing and report success;
//! so we look earlier still, as an initialiser of the executable (`.init_array`, gABI chapter 5).

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether descriptor 1 was closed when the process began.
pub fn stdout_was_closed() -> bool {
    // ORDERING: written before any thread exists.
    CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    // SAFETY: a plain system call, which any descriptor number may be given to; libc is initialised before.
    let closed = unsafe {
        libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) == -1 && *libc::__errno_location() == libc::EBADF
    };
    // ORDERING: as above.
    CLOSED.store(closed, Ordering::Relaxed);
}

// SAFETY: the section holds functions of this type, and this one neither panics nor needs the standard library's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
