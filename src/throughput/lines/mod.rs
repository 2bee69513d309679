//! N lines of one text to a descriptor, by what is fastest there.
//!
//! | target | how | module |
//! |---|---|---|
//! | pipe | the same few pages, referred to by every slot of the pipe: nothing is copied | [`shared_pages`] |
//! | anything else, or where the kernel refuses that | one cache-sized block, 1024 times in one `writev` | [`block`] |
//!
//! Nothing of a page that is in a pipe is ever changed or freed while the pipe refers to it: the pages belong to
//! the kernel from the start. (`vmsplice` would lend our own, which a reader may still hold when we have exited.)

mod block;
mod broken_pipe;
mod ready;
mod shared_pages;
mod terminal;

pub use broken_pipe::end_by_broken_pipe;
pub use terminal::{RawTerminal, TerminalError};

use block::Block;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use shared_pages::SharedPages;
use std::os::fd::BorrowedFd;

/// The largest number of lines, 2^63.
pub const MOST_LINES: u64 = 1 << 63;

/// So much is written at once: to set up the sharing of pages would take longer than to copy.
const SMALL: u128 = 64 * 1024;

/// The lines: what is repeated (one line, if the text holds no newline), and when it ends.
#[derive(Clone, Debug)]
pub struct Lines {
    line: Vec<u8>,
    total: u128,
}

/// How far the writing came, and what stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written} of {total} bytes written: {cause}")]
pub struct WriteError {
    /// Bytes that the target took.
    pub written: u128,
    /// Bytes that there were to write.
    pub total: u128,
    /// The system's answer.
    pub cause: Errno,
}

impl Lines {
    /// `count` lines of `text`, each ended by one newline. A text of several lines is begun anew after its last one, and
    /// is not finished where the lines are used up, as with `yes TEXT | head -n N`.
    pub fn new(text: &[u8], count: u64) -> Lines {
        let line = [text, b"\n"].concat();
        let ends = || line.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place + 1);
        let in_text = ends().count() as u64;
        let begun = usize::try_from(count % in_text).ok().and_then(|lines| ends().nth(lines.checked_sub(1)?));
        let total = line.len() as u128 * u128::from(count / in_text) + begun.unwrap_or(0) as u128;
        Lines { line, total }
    }

    /// Their length in bytes.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Writes all of them, at the descriptor's position, whatever it is; returns when its target has taken the last byte.
    /// One that is non-blocking is waited for.
    pub fn write_to(&self, out: BorrowedFd<'_>) -> Result<(), WriteError> {
        let mut progress = Progress { line: self.line.len(), written: 0, total: self.total() };
        let result = self.write_counted(out, &mut progress);
        result.map_err(|cause| WriteError { written: progress.written, total: progress.total, cause })
    }

    fn write_counted(&self, out: BorrowedFd<'_>, progress: &mut Progress) -> Result<(), Errno> {
        if progress.total > SMALL && is_pipe(out) && self.write_shared(out, progress)? {
            return Ok(());
        }
        let mut block = Block::new(&self.line, progress.left());
        block.write(out, progress)
    }

    /// Whether all could be written without copying; if not, `progress` says how much was.
    fn write_shared(&self, out: BorrowedFd<'_>, progress: &mut Progress) -> Result<bool, Errno> {
        match SharedPages::new(&self.line, out, progress.total) {
            Ok(Some(pages)) => pages.write(out, progress),
            // Refused: no more descriptors, a seccomp filter, or pipes too small for one line.
            Ok(None) | Err(_) => Ok(false),
        }
    }
}

/// How much of the lines is out.
#[derive(Debug)]
struct Progress {
    /// Bytes of one line.
    line: usize,
    written: u128,
    total: u128,
}

impl Progress {
    fn left(&self) -> u128 {
        self.total - self.written
    }

    /// What is left, as far as `most`.
    fn next(&self, most: usize) -> usize {
        usize::try_from(self.left()).map_or(most, |left| left.min(most))
    }

    /// Where in a line the next byte is.
    fn phase(&self) -> usize {
        usize::try_from(self.written % self.line as u128).unwrap_or(0)
    }

    fn advance(&mut self, count: usize) {
        self.written += count as u128;
    }
}

fn is_pipe(out: BorrowedFd<'_>) -> bool {
    fstat(out).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}
