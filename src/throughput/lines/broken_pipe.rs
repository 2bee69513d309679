//! Ending as a pipeline expects, once the reader has left.

/// The status that a shell gives to a process that died of SIGPIPE: 128 and the signal's number.
const STATUS: i32 = 128 + libc::SIGPIPE;

/// Dies of SIGPIPE, silently, as a program does that never thought of it. The standard library ignores that signal
/// from the start. Where it is blocked: exits with the status that a shell would have shown.
pub fn end_by_broken_pipe() -> ! {
    // SAFETY: plain system calls; no handler of ours is replaced.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::raise(libc::SIGPIPE);
    }
    std::process::exit(STATUS)
}
