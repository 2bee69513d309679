//! A terminal without output processing while we write.
//!
//! By default a terminal's line discipline stops at every newline to insert a carriage return (`ONLCR`;
//! `process_output_block` in `drivers/tty/n_tty.c`), about half a microsecond per line. Without processing (`OPOST`), and
//! with the carriage returns written by us, the terminal receives the same bytes faster.
//!
//! The mode belongs to the terminal. It is restored at the end and by every signal that can be caught and would end or
//! stop us, and set again when we continue in the foreground. In the background it belongs to the shell.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why the terminal's mode was not changed.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("`stdout` is not a terminal\nhelp: leave out `--raw-tty`")]
    NotATerminal,
    /// Output modes other than `OPOST` and `ONLCR`, which we do not imitate.
    #[error("the terminal's output modes change more than newlines\nhelp: reset them with `stty sane`")]
    OtherModes,
    #[error("cannot set the terminal's mode: {0}\nhelp: leave out `--raw-tty`")]
    Refused(#[source] io::Error),
}

/// The modes that the signal handlers restore and set again.
struct Modes {
    terminal: i32,
    before: libc::termios,
    during: libc::termios,
}

static MODES: OnceLock<Modes> = OnceLock::new();

/// Whether the terminal has our mode now.
static RAW: AtomicBool = AtomicBool::new(false);

/// A terminal without output processing, until dropped.
#[derive(Debug)]
pub struct RawTerminal {
    ends_lines: bool,
}

impl RawTerminal {
    /// Turns output processing off. Only once per process: the signal handlers know one terminal.
    pub fn new(terminal: BorrowedFd<'_>) -> Result<RawTerminal, TerminalError> {
        let before = modes_of(terminal)?;
        let ends_lines = before.c_oflag & (libc::OPOST | libc::ONLCR) == libc::OPOST | libc::ONLCR;
        // The flags for tabs and delays (`NL0`, `TAB0`, …) are 0 in the modes that we accept.
        if before.c_oflag & libc::OPOST != 0 && before.c_oflag & !(libc::OPOST | libc::ONLCR) != 0 {
            return Err(TerminalError::OtherModes);
        }
        let mut during = before;
        during.c_oflag &= !libc::OPOST;
        let modes = Modes { terminal: terminal.as_raw_fd(), before, during };
        let modes = MODES.get_or_init(|| modes);
        catch_signals();
        if make_raw(modes) {
            Ok(RawTerminal { ends_lines })
        } else {
            Err(TerminalError::Refused(io::Error::last_os_error()))
        }
    }

    /// The text for which the terminal receives the same bytes as before: with a carriage return before each newline, if
    /// the line discipline would have inserted one. The result contains the carriage return of the line's final newline,
    /// but not that newline, as `text`.
    pub fn text(&self, text: &[u8]) -> Vec<u8> {
        if !self.ends_lines {
            return text.to_owned();
        }
        let mut changed = Vec::with_capacity(text.len() + 1);
        for byte in text.iter().chain(b"\n") {
            changed.extend((*byte == b'\n').then_some(b'\r'));
            changed.push(*byte);
        }
        changed.pop();
        changed
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore();
    }
}

fn modes_of(terminal: BorrowedFd<'_>) -> Result<libc::termios, TerminalError> {
    // SAFETY: plain data, filled by the call.
    unsafe {
        let mut modes: libc::termios = zeroed();
        match libc::tcgetattr(terminal.as_raw_fd(), &raw mut modes) {
            0 => Ok(modes),
            _ => Err(TerminalError::NotATerminal),
        }
    }
}

/// Takes effect at once. Output written before keeps its processing.
fn set(terminal: i32, modes: &libc::termios) -> bool {
    // SAFETY: the modes are valid; async-signal-safe (signal-safety(7)).
    unsafe { libc::tcsetattr(terminal, libc::TCSANOW, modes) == 0 }
}

fn make_raw(modes: &Modes) -> bool {
    // ORDERING: one thread and its signal handlers. Stored before the call, so that a signal after the call restores.
    RAW.store(true, Ordering::Relaxed);
    let mut done = set(modes.terminal, &modes.during);
    // A background process is stopped for this (SIGTTOU), and the call is interrupted when it continues.
    while !done && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
        done = set(modes.terminal, &modes.during);
    }
    RAW.store(done, Ordering::Relaxed);
    done
}

fn restore() {
    if let Some(modes) = MODES.get().filter(|_| RAW.swap(false, Ordering::Relaxed)) {
        set(modes.terminal, &modes.before);
    }
}

/// Whether another process group has the terminal, such as a shell that continued without us. On a terminal that is not
/// our controlling terminal no process is in the background.
fn in_background(terminal: i32) -> bool {
    // SAFETY: no preconditions; both are async-signal-safe.
    let (foreground, ours) = unsafe { (libc::tcgetpgrp(terminal), libc::getpgrp()) };
    foreground >= 0 && foreground != ours
}

fn catch_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        match signal {
            libc::SIGCONT => handle(signal, on_continue),
            // Ignored by default, or impossible to catch.
            libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGKILL | libc::SIGSTOP => {}
            _ => handle(signal, on_end_or_stop),
        }
    }
}

/// A signal that was ignored at our start (`nohup`) stays ignored.
fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: plain data; the handlers call only async-signal-safe functions. Signals that the C library reserves for
    // itself are refused, which is harmless.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        if action.sa_sigaction == libc::SIG_IGN {
            return;
        }
        action = zeroed();
        action.sa_sigaction = handler as usize;
        // No other handler may interrupt, and SIGTTOU is blocked so that a background process can restore.
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, null_mut());
    }
}

/// Restores the modes, then raises the signal again with its default action. It is blocked until we return.
extern "C" fn on_end_or_stop(signal: i32) {
    keeping_errno(|| {
        restore();
        // SAFETY: both are async-signal-safe.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    });
}

/// Shells send this signal with `fg`, even to a process that is already running in the background.
extern "C" fn on_continue(_: i32) {
    keeping_errno(|| {
        if let Some(modes) = MODES.get().filter(|modes| !in_background(modes.terminal)) {
            make_raw(modes);
        }
        for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
            handle(signal, on_end_or_stop);
        }
    });
}

/// The interrupted code may be about to read `errno`.
fn keeping_errno(handler: impl FnOnce()) {
    // SAFETY: this thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: valid for the whole of the thread's life.
    let before = unsafe { *errno };
    handler();
    // SAFETY: as before.
    unsafe { *errno = before };
}
