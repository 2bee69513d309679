//! Writes N lines of one text to a descriptor, in the fastest way for its target.
//!
//! | target | how | module |
//! |---|---|---|
//! | pipe | every slot of the pipe refers to the same few pages: nothing is copied | [`shared_pages`] |
//! | anything else, or if the kernel refuses that | one cache-sized block, 1024 times in one `writev` | [`line_block`] |
//!
//! A page in a pipe is never changed or freed while the pipe refers to it: the pages belong to the kernel from the
//! start. (`vmsplice` would lend our own pages, which a reader may still use after we have exited.)

mod broken_pipe;
mod line_block;
mod raw_terminal;
mod ready;
mod shared_pages;

pub use broken_pipe::end_by_broken_pipe;
pub use raw_terminal::{RawTerminal, TerminalError};

use line_block::LineBlock;
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use shared_pages::SharedPages;
use std::os::fd::BorrowedFd;

/// The largest number of lines, 2^63.
pub const MAX_LINES: u64 = 1 << 63;

/// Up to this many bytes, copying takes less time than setting up shared pages.
const SMALL: u128 = 64 * 1024;

/// The text to repeat (one line, if it contains no newline) and its total length.
#[derive(Clone, Debug)]
pub struct Lines {
    line: Vec<u8>,
    total: u128,
}

/// How much was written, and what stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written} of {total} bytes written: {cause}")]
pub struct WriteError {
    /// Bytes that the target accepted.
    pub written: u128,
    pub total: u128,
    pub cause: Errno,
}

impl Lines {
    /// `count` lines of `text`, each with a newline. A text of several lines is repeated from its beginning, and stops
    /// after `count` lines even in its middle, as with `yes TEXT | head -n N`.
    pub fn new(text: &[u8], count: u64) -> Lines {
        let line = [text, b"\n"].concat();
        let ends = || line.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place + 1);
        let in_text = ends().count() as u64;
        let begun = usize::try_from(count % in_text).ok().and_then(|lines| ends().nth(lines.checked_sub(1)?));
        let total = line.len() as u128 * u128::from(count / in_text) + begun.unwrap_or(0) as u128;
        Lines { line, total }
    }

    /// The length in bytes.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Writes all lines at the descriptor's position. Returns when the target has accepted the last byte, and waits for a
    /// non-blocking target.
    pub fn write_to(&self, out: BorrowedFd<'_>) -> Result<(), WriteError> {
        let mut progress = WriteProgress { line: self.line.len(), written: 0, total: self.total() };
        let result = self.write_counted(out, &mut progress);
        result.map_err(|cause| WriteError { written: progress.written, total: progress.total, cause })
    }

    fn write_counted(&self, out: BorrowedFd<'_>, progress: &mut WriteProgress) -> Result<(), Errno> {
        if progress.total > SMALL && is_pipe(out) && self.write_shared(out, progress)? {
            return Ok(());
        }
        let mut block = LineBlock::new(&self.line, progress.left());
        block.write(out, progress)
    }

    /// Returns whether everything could be written without copying. `progress` says how much was.
    fn write_shared(&self, out: BorrowedFd<'_>, progress: &mut WriteProgress) -> Result<bool, Errno> {
        match SharedPages::new(&self.line, out, progress.total) {
            Ok(Some(pages)) => pages.write(out, progress),
            // No more descriptors, a seccomp filter, or pipes too small for one line.
            Ok(None) | Err(_) => Ok(false),
        }
    }
}

/// How much has been written.
#[derive(Debug)]
struct WriteProgress {
    /// Bytes per line.
    line: usize,
    written: u128,
    total: u128,
}

impl WriteProgress {
    fn left(&self) -> u128 {
        self.total - self.written
    }

    /// The bytes left, but at most `most`.
    fn next(&self, most: usize) -> usize {
        usize::try_from(self.left()).map_or(most, |left| left.min(most))
    }

    /// The offset of the next byte in its line.
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
