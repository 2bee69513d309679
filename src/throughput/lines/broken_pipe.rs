//! Ends as a pipeline expects once the reader is gone.

/// The status that a shell reports for a process that died of SIGPIPE: 128 plus the signal's number.
const STATUS: i32 = 128 + libc::SIGPIPE;

/// Dies silently of SIGPIPE, as other programs do; Rust's standard library ignores that signal at start. If the signal is
/// blocked, exits with the status that a shell would report.
pub fn end_by_broken_pipe() -> ! {
    // SAFETY: plain system calls; no handler of ours is replaced.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::raise(libc::SIGPIPE);
    }
    std::process::exit(STATUS)
}
