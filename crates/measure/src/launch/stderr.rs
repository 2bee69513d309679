//! The tracee's stderr: a pipe whose last bytes are kept, to show why a program failed.

use super::diagnosis::LaunchError;
use super::pipes::{Ends, pipe, read_now};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};

/// How many bytes are kept for messages.
const TAIL: usize = 4096;

/// How many bytes are read at a time.
const CHUNK: usize = 4096;

/// One run's stderr: the tracee's end until the launch, our end until everything has been read.
#[derive(Debug)]
pub(super) struct Stderr {
    tracee: Option<OwnedFd>,
    /// `None`: every other process has closed it.
    ours: Option<File>,
    tail: Vec<u8>,
}

impl Stderr {
    pub(super) fn open() -> Result<Stderr, LaunchError> {
        let (ours, tracee) = pipe()?;
        Ok(Stderr { tracee: Some(tracee), ours: Some(ours), tail: Vec::new() })
    }

    /// The descriptor that the tracee gets as its stderr.
    pub(super) fn tracee_end(&self) -> i32 {
        self.tracee.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// The descriptor to poll; -1, which poll(2) ignores, if there is nothing to wait for.
    pub(super) fn pollable(&self) -> i32 {
        self.ours.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    pub(super) fn close_tracees_end(&mut self) {
        self.tracee = None;
    }

    /// Reads what has arrived, without waiting, and passes each piece on. `all`: makes sure that nothing is left.
    pub(super) fn drain(&mut self, all: bool, mut pass_on: impl FnMut(&[u8])) {
        let Some(ours) = self.ours.take() else { return };
        let mut buffer = [0_u8; CHUNK];
        loop {
            match read_now(&ours, &mut buffer) {
                Ok(count @ 1..) => {
                    pass_on(&buffer[..count]);
                    self.keep(&buffer[..count]);
                    if count < CHUNK && !all {
                        break self.ours = Some(ours);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break self.ours = Some(ours),
                Ok(_) | Err(_) => break,
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
    }

    /// The last bytes, and the ends that are still open.
    pub(super) fn into_parts(self) -> (Vec<u8>, Ends) {
        (self.tail, (self.ours, self.tracee))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_last_bytes_are_kept_and_all_are_passed_on() {
        let mut stderr = Stderr::open().unwrap();
        let mut tracee = File::from(stderr.tracee.take().unwrap());
        let mut passed = 0;
        for byte in [b'a', b'b', b'c'] {
            tracee.write_all(&[byte; TAIL / 2]).unwrap();
            stderr.drain(false, |piece| passed += piece.len());
        }
        assert!(stderr.pollable() >= 0);
        drop(tracee);
        stderr.drain(false, |_| ());
        assert_eq!((stderr.pollable(), passed), (-1, TAIL / 2 * 3));
        assert_eq!(stderr.into_parts().0, [[b'b'; TAIL / 2], [b'c'; TAIL / 2]].concat());
    }
}
