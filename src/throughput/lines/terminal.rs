//! A terminal without output processing, for as long as we write.
//!
//! By default a terminal's line discipline stops at every newline to put a carriage return before it (`ONLCR`;
//! `process_output_block` in `drivers/tty/n_tty.c`), about half a microsecond a line. With processing off (`OPOST`) and
//! the carriage returns written by us the terminal receives the same bytes, faster.
//!
//! The mode belongs to the terminal, not to us: it is restored at the end, on every signal that can be caught and
//! would end or stop us, and set again when we go on in the foreground. In the background it is the shell's.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a terminal stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// Not a terminal.
    #[error("`stdout` is not a terminal\nhelp: leave out `--raw-tty`")]
    NotATerminal,
    /// Modes beside `OPOST` and `ONLCR`, which we do not imitate.
    #[error("the terminal's output modes do more than end lines\nhelp: reset them with `stty sane`")]
    OtherModes,
    /// The system refused.
    #[error("cannot set the terminal's mode: {0}\nhelp: leave out `--raw-tty`")]
    Refused(#[source] io::Error),
}

/// The modes to restore and to set again: what the signal handlers read.
struct Modes {
    terminal: i32,
    before: libc::termios,
    during: libc::termios,
}

static MODES: OnceLock<Modes> = OnceLock::new();

/// The terminal has our mode now.
static RAW: AtomicBool = AtomicBool::new(false);

/// A terminal without output processing, until dropped.
#[derive(Debug)]
pub struct RawTerminal {
    ends_lines: bool,
}

impl RawTerminal {
    /// Turns output processing off. Once in a process: the signal handlers know one terminal.
    pub fn new(terminal: BorrowedFd<'_>) -> Result<RawTerminal, TerminalError> {
        let before = modes_of(terminal)?;
        let ends_lines = before.c_oflag & (libc::OPOST | libc::ONLCR) == libc::OPOST | libc::ONLCR;
        // What the driver does to lengths and delays (`NL0`, `TAB0`, …) is 0 in what we accept.
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

    /// What a text must be for the terminal to receive the same: a carriage return before each newline, where the line
    /// discipline would have put one. The newline that ends the line is not part of `text`, its carriage return is.
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

/// At once: what was written before keeps the processing that it had when it was written.
fn set(terminal: i32, modes: &libc::termios) -> bool {
    // SAFETY: the modes are valid; async-signal-safe (signal-safety(7)).
    unsafe { libc::tcsetattr(terminal, libc::TCSANOW, modes) == 0 }
}

fn make_raw(modes: &Modes) -> bool {
    // ORDERING: of one thread and its signal handlers. Before the call, so that a signal that comes after it restores.
    RAW.store(true, Ordering::Relaxed);
    let mut done = set(modes.terminal, &modes.during);
    // Whoever does that in the background is stopped (SIGTTOU), and is interrupted when it goes on.
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

/// Another process group has the terminal: a shell that went on without us. On a terminal that is not our controlling
/// one nobody is in the background.
fn in_background(terminal: i32) -> bool {
    // SAFETY: no preconditions; both are async-signal-safe.
    let (foreground, ours) = unsafe { (libc::tcgetpgrp(terminal), libc::getpgrp()) };
    foreground >= 0 && foreground != ours
}

fn catch_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        match signal {
            libc::SIGCONT => handle(signal, on_continue),
            // Ignored by default, or not to be caught.
            libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGKILL | libc::SIGSTOP => {}
            _ => handle(signal, on_end_or_stop),
        }
    }
}

/// A signal that was ignored when we were started (`nohup`) stays ignored.
fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: plain data; the handlers call nothing that is not async-signal-safe. Numbers that the C library keeps
    // for itself are refused, which is all right.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        if action.sa_sigaction == libc::SIG_IGN {
            return;
        }
        action = zeroed();
        action.sa_sigaction = handler as usize;
        // No other handler in between; and SIGTTOU blocked, so that a background process may restore.
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, null_mut());
    }
}

/// Restores the modes, then lets the signal do what it would have done. It is blocked until we return.
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

/// Shells send it with `fg`, also to what runs in the background already.
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

/// What the signal interrupted may be about to read it.
fn keeping_errno(handler: impl FnOnce()) {
    // SAFETY: this thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: valid for the whole of the thread's life.
    let before = unsafe { *errno };
    handler();
    // SAFETY: as before.
    unsafe { *errno = before };
}
