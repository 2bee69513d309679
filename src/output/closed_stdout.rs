//! Whether this process was started without a stdout.
//!
//! Before `main`, the standard library opens `/dev/null` in place of a standard stream that is closed, so that no file
//! opened later gets its number. From then on output would vanish and every write would report success. Therefore this
//! looks earlier, in an initialiser of the executable (`.init_array`, gABI chapter 5).

use rustix::io::{Errno, fcntl_getfd};
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether descriptor 1 was closed when the process began.
pub fn stdout_was_closed() -> bool {
    // ORDERING: written before any thread exists.
    CLOSED.load(Ordering::Relaxed)
}

/// Makes one system call: the standard library's runtime does not exist yet.
extern "C" fn look() {
    let closed = fcntl_getfd(rustix::stdio::stdout()) == Err(Errno::BADF);
    // ORDERING: as above.
    CLOSED.store(closed, Ordering::Relaxed);
}

// SAFETY: the section contains functions of this type, and this one neither panics nor needs the standard library's
// runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;
