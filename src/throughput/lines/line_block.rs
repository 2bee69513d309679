//! Plain writing: one block of whole lines, repeatedly.
//!
//! A block that stays in the processor's cache is copied faster than a long buffer, and `writev` takes it 1024 times
//! in one system call. Memory use stays small for any number of lines.

use super::WriteProgress;
use super::ready::until_ready;
use rustix::io::{Errno, write, writev};
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// The target size, which fits into any second-level cache.
const AIM: usize = 64 * 1024;

/// The maximum number of buffers that one `writev` takes: `UIO_MAXIOV` in include/uapi/linux/uio.h.
const MAX_BUFFERS: usize = 1024;

/// Whole lines, which begin at a page boundary.
pub(super) struct LineBlock {
    bytes: Vec<u8>,
    start: usize,
    /// Blocks per write. Reduced if the target refuses such a long message.
    repeats: usize,
}

impl LineBlock {
    /// A block of lines, no longer than `total`.
    pub(super) fn new(line: &[u8], total: u128) -> LineBlock {
        match usize::try_from(total) {
            Ok(total) if total <= AIM => LineBlock::of_all(line, total),
            _ => LineBlock::aligned(line, total),
        }
    }

    /// Everything there is to write. Alignment would gain nothing and cost a page.
    fn of_all(line: &[u8], total: usize) -> LineBlock {
        let bytes = line.repeat((total / line.len()).max(1));
        LineBlock { bytes, start: 0, repeats: MAX_BUFFERS }
    }

    fn aligned(line: &[u8], total: u128) -> LineBlock {
        let page = rustix::param::page_size();
        let count = usize::try_from(total / line.len() as u128).map_or(usize::MAX, |lines| lines.max(1));
        let length = line.len() * count.min(lines_in_block(line.len(), page));
        let mut bytes: Vec<u8> = Vec::with_capacity(length + page);
        let start = bytes.as_ptr().align_offset(page).min(page);
        bytes.resize(start, 0);
        bytes.extend_from_slice(line);
        while bytes.len() < start + length {
            let more = (bytes.len() - start).min(start + length - bytes.len());
            bytes.extend_from_within(start..start + more);
        }
        LineBlock { bytes, start, repeats: MAX_BUFFERS }
    }

    /// Writes everything that is left.
    pub(super) fn write(&mut self, out: BorrowedFd<'_>, progress: &mut WriteProgress) -> Result<(), Errno> {
        let block = &self.bytes[self.start..];
        let repeated = vec![IoSlice::new(block); MAX_BUFFERS.min(progress.next(usize::MAX) / block.len())];

        while progress.left() > 0 {
            let whole = (progress.next(usize::MAX) / block.len()).min(self.repeats);
            let answer = if progress.phase() == 0 && whole > 0 {
                until_ready(out, || writev(out, &repeated[..whole]))
            } else {
                let rest = &block[progress.phase()..];
                until_ready(out, || write(out, &rest[..progress.next(rest.len())]))
            };

            match answer {
                Ok(0) => return Err(Errno::NOSPC), // not known to happen, but the loop would never end
                Ok(count) => progress.advance(count),
                Err(Errno::MSGSIZE) if self.repeats > 1 => self.repeats /= 2,
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }
}

/// Lines that fill whole pages exactly if the target size allows it, or else as many as fit, but at least one.
fn lines_in_block(line: usize, page: usize) -> usize {
    let even = page / greatest_common_divisor(line, page);
    let fit = (AIM / line).max(1);
    if even <= fit { fit / even * even } else { fit }
}

/// Euclid's algorithm.
pub(super) fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
