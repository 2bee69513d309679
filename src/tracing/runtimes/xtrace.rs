//! What bash writes of each command before it executes it (`set -x`), with the time at which each line arrived.
//!
//! bash takes `SHELLOPTS` and `BASH_XTRACEFD` from its environment. It takes `PS4`, which could write the time, only if it
//! does not run as root. So the time is that of the arrival in our pipe.

use firstbyte_measure::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fmt::Write;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A descriptor that no script uses: bash itself takes 255, and scripts those from 3 on.
const DESCRIPTOR: i32 = 93;

/// How long the reader waits for a line before it looks whether the run has ended.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A pipe that the programs that we start inherit, and a thread that reads from it.
pub(super) struct Xtrace {
    write: OwnedFd,
    ended: Arc<AtomicBool>,
    reader: JoinHandle<String>,
}

impl Xtrace {
    pub(super) fn begin() -> io::Result<Xtrace> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&read, true)?;
        let write = fcntl_dupfd_cloexec(&write, DESCRIPTOR)?;
        fcntl_setfd(&write, FdFlags::empty())?;
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let reader =
            std::thread::Builder::new().name("xtrace".to_owned()).spawn(move || lines(&read, &flag))?;
        Ok(Xtrace { write, ended, reader })
    }

    /// The number that the pipe has in the programs.
    pub(super) fn descriptor(&self) -> i32 {
        self.write.as_raw_fd()
    }

    /// The lines of a run that has ended: the time in nanoseconds, a tab, and what bash wrote.
    pub(super) fn end(self) -> String {
        // ORDERING: a lone flag; the pipe orders what was written before it.
        self.ended.store(true, Ordering::Relaxed);
        drop(self.write);
        self.reader.join().unwrap_or_default()
    }
}

/// Reads until the run has ended, even if another process still has the pipe open.
fn lines(read: &OwnedFd, ended: &AtomicBool) -> String {
    let (mut text, mut rest, mut buffer) = (String::new(), Vec::new(), [0_u8; 16_384]);
    loop {
        // ORDERING: see `end`.
        let over = ended.load(Ordering::Relaxed);
        match rustix::io::read(read, &mut buffer) {
            Ok(0) => return text,
            Ok(count) => {
                rest.extend_from_slice(&buffer[..count]);
                take_lines(&mut rest, clock::now().0, &mut text);
            }
            Err(_) if over => return text,
            Err(_) => {
                let _ = poll(&mut [PollFd::new(read, PollFlags::IN)], Some(&PAUSE));
            }
        }
    }
}

fn take_lines(rest: &mut Vec<u8>, now: u64, text: &mut String) {
    let complete = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let complete: Vec<u8> = rest.drain(..complete).collect();
    for line in String::from_utf8_lossy(&complete).lines() {
        let _ = writeln!(text, "{now}\t{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn every_line_has_a_time_and_a_process_that_remains_holds_nobody_up() {
        let xtrace = Xtrace::begin().unwrap();
        let script = format!(
            "echo one >/proc/self/fd/{0}; sleep 0.01; printf 'two\\nthr' >/proc/self/fd/{0}",
            xtrace.descriptor()
        );
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        let mut left = Command::new("sleep").arg("60").spawn().unwrap();
        let text = xtrace.end();
        left.kill().unwrap();
        left.wait().unwrap();
        let lines: Vec<(u64, &str)> = text
            .lines()
            .map(|line| line.split_once('\t').unwrap())
            .map(|(at, line)| (at.parse().unwrap(), line))
            .collect();
        assert_eq!(lines.iter().map(|(_, line)| *line).collect::<Vec<_>>(), ["one", "two"]);
        assert!(lines[0].0 < lines[1].0);
    }
}
