//! Writes lines to a pipe without copying them: every slot of the pipe refers to the same few pages.
//!
//! A pipe is a ring of slots, each of which refers to a page or a part of one (`struct pipe_buffer`,
//! `include/linux/pipe_fs_i.h`). `tee(2)` duplicates the references and copies no byte. So the lines are written once,
//! into a few pages, and a pipe of our own, the template, is filled with references to them. A loop then uses `tee` to
//! duplicate the template into a second pipe, the broker, and `splice` to move the broker's contents to the target. The
//! broker is needed because a `tee` always starts at the beginning: after one that found too little room in the target,
//! the next could not continue in the middle.
//!
//! The pages are few, so they stay in the reader's caches when it copies them. But they are not too few: each reference
//! changes the page's reference count, on which a reader that only drops references competes with us.

use super::WriteProgress;
use super::line_block::greatest_common_divisor;
use super::ready::until_ready;
use rustix::io::{Errno, write};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee};
use std::os::fd::{BorrowedFd, OwnedFd};

/// The largest size for everyone: the default of `/proc/sys/fs/pipe-max-size`.
const LARGEST_PIPE: usize = 1024 * 1024;

/// The default size: `PIPE_DEF_BUFFERS` pages, `include/linux/pipe_fs_i.h`.
const PLAIN_PIPE: usize = 64 * 1024;

/// A unit that fills whole pages exactly may take this many.
const PAGES_FOR_EVEN: usize = 16;

/// Use at most this many different pages, to spread the reference counts: a quarter of a common second-level cache.
const COUNTERS: usize = 64;

struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
    slots: usize,
}

/// The template and the broker.
pub(super) struct SharedPages {
    template: Pipe,
    length: usize,
    broker: Pipe,
}

impl SharedPages {
    /// Prepares writing `total` bytes to the pipe `out`, which is enlarged if possible. `None` if a line does not fit into
    /// a pipe.
    pub(super) fn new(line: &[u8], out: BorrowedFd<'_>, total: u128) -> Result<Option<SharedPages>, Errno> {
        enlarge(out, total);
        let (template, broker) = (Pipe::new()?, Pipe::new()?);
        let slots = template.slots.min(broker.slots);
        let Some(unit) = Unit::choose(line.len(), rustix::param::page_size(), slots) else {
            return Ok(None);
        };
        let mut pages = SharedPages { template, length: 0, broker };
        pages.fill(line, &unit)?;
        Ok((pages.length == unit.bytes() * unit.copies * unit.repeats).then_some(pages))
    }

    /// Writes the copies into fresh pages, then doubles the references until the template is full.
    fn fill(&mut self, line: &[u8], unit: &Unit) -> Result<(), Errno> {
        let text = line.repeat(unit.lines);
        for _ in 0..unit.copies {
            if write(&self.template.writer, &text)? != text.len() {
                return Ok(()); // smaller than expected
            }
        }

        self.length = text.len() * unit.copies;
        let full = self.length * unit.repeats;
        while self.length < full {
            let more = self.length.min(full - self.length);
            let teed = tee(&self.template.reader, &self.broker.writer, more, SpliceFlags::empty())?;
            let moved = self.broker.splice_to(&self.template.writer, teed)?;
            self.length += moved;
            if moved != more {
                break;
            }
        }
        Ok(())
    }

    /// Writes everything that is left. Returns whether it succeeded; otherwise the caller continues from there.
    pub(super) fn write(&self, out: BorrowedFd<'_>, progress: &mut WriteProgress) -> Result<bool, Errno> {
        while progress.left() > 0 {
            let wanted = progress.next(self.length);
            let teed = tee(&self.template.reader, &self.broker.writer, wanted, SpliceFlags::empty());
            let mut pending = match teed {
                Err(Errno::INTR) => continue,
                Ok(teed @ 1..) => teed,
                Ok(0) | Err(_) => return Ok(false),
            };

            while pending > 0 {
                match until_ready(out, || self.broker.splice_to(out, pending)) {
                    Ok(moved @ 1..) => {
                        progress.advance(moved);
                        pending -= moved;
                    }
                    Err(Errno::PIPE) => return Err(Errno::PIPE),
                    Ok(0) | Err(_) => return Ok(false),
                }
            }
            if progress.phase() != 0 && progress.left() > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Pipe {
    fn new() -> Result<Pipe, Errno> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let size = largest(&writer);
        Ok(Pipe { reader, writer, slots: size / rustix::param::page_size() })
    }

    fn splice_to<F: std::os::fd::AsFd>(&self, out: F, count: usize) -> Result<usize, Errno> {
        splice(&self.reader, None, out, None, count, SpliceFlags::empty())
    }
}

/// Makes the pipe as large as allowed. Returns its size in bytes.
fn largest(pipe: &OwnedFd) -> usize {
    let sizes = std::iter::successors(Some(LARGEST_PIPE), |size| Some(size / 2));
    let tried =
        sizes.take_while(|size| *size > PLAIN_PIPE).find_map(|size| fcntl_setpipe_size(pipe, size).ok());
    tried.or_else(|| fcntl_getpipe_size(pipe).ok()).unwrap_or(PLAIN_PIPE)
}

/// Enlarges the target's pipe, at most to the size of its contents. If that is refused, the pipe stays as it is.
fn enlarge(out: BorrowedFd<'_>, total: u128) {
    let wanted =
        usize::try_from(total).map_or(LARGEST_PIPE, |total| total.min(LARGEST_PIPE)).next_power_of_two();
    let now = fcntl_getpipe_size(out).unwrap_or(usize::MAX);
    let sizes = std::iter::successors(Some(wanted), |size| Some(size / 2));
    let _ = sizes.take_while(|size| *size > now).find(|size| fcntl_setpipe_size(out, *size).is_ok());
}

/// The lines that are written once, and how often the template refers to them.
#[derive(Debug, PartialEq, Eq)]
struct Unit {
    line: usize,
    lines: usize,
    /// Number of copies, each in its own pages.
    copies: usize,
    /// How often the template refers to all copies.
    repeats: usize,
}

impl Unit {
    fn bytes(&self) -> usize {
        self.line * self.lines
    }

    /// Whole lines in few pages. Preferably they fill the pages exactly, because readers ask for whole pages. Otherwise
    /// the fewest pages of which less than one percent is unused, or else those with the smallest unused part.
    fn choose(line: usize, page: usize, slots: usize) -> Option<Unit> {
        let even = line / greatest_common_divisor(line, page);
        let fits = |pages: usize| pages * page / line;
        let used = |pages: usize| fits(pages) * line;
        let pages = if even <= PAGES_FOR_EVEN.min(slots) {
            even
        } else {
            let dense = (1..=slots).find(|&pages| used(pages) * 100 >= pages * page * 99);
            dense.or_else(|| (1..=slots).max_by_key(|&pages| used(pages) * slots / pages))?
        };
        let all = slots.checked_div(pages)?;
        // A copy that does not fill its pages would share one with the next copy.
        let copies = if used(pages) == pages * page { copies(pages, all) } else { 1 };
        let unit = Unit { line, lines: fits(pages), copies, repeats: all / copies };
        (unit.lines > 0).then_some(unit)
    }
}

/// The maximum number of copies that [`COUNTERS`] allows, if the template refers to each of them equally often.
fn copies(pages: usize, all: usize) -> usize {
    (1..=COUNTERS / pages.max(1)).rev().find(|copies| all.is_multiple_of(*copies)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(line: usize, slots: usize) -> Option<(usize, usize)> {
        Unit::choose(line, 4096, slots).map(|unit| (unit.lines, unit.copies * unit.repeats))
    }

    #[test]
    fn the_copies_divide_the_template_evenly() {
        let copies = |line: usize| Unit::choose(line, 4096, 256).map(|unit| (unit.copies, unit.repeats));
        assert_eq!(copies(12), Some((17, 5))); // 51 pages
        assert_eq!(copies(4096), Some((64, 4)));
        assert_eq!(copies(13), Some((1, 19)));
        assert_eq!(copies(101), Some((1, 128)), "two pages, not filled");
        assert_eq!(copies(1 << 20), Some((1, 1)));
    }

    #[test]
    fn lines_fill_pages_exactly_if_a_few_pages_suffice() {
        assert_eq!(unit(1, 256), Some((4096, 256)));
        assert_eq!(unit(12, 256), Some((1024, 85)));
        assert_eq!(unit(4096, 256), Some((1, 256)));
        assert_eq!(unit(13, 256), Some((4096, 19)));
        assert_eq!(unit(12, 3), Some((1024, 1)));
    }

    #[test]
    fn other_lines_leave_little_of_the_last_page_unused() {
        assert_eq!(unit(101, 256), Some((81, 128)));
        assert_eq!(unit(12, 2), Some((341, 2)));
        assert_eq!(unit(100_001, 256), Some((2, 5)));
        assert_eq!(unit(4097, 2), Some((1, 1)));
    }

    #[test]
    fn a_line_longer_than_the_pipe_has_no_unit() {
        assert_eq!(unit(8193, 2), None);
        assert_eq!(unit(1 << 20, 256), Some((1, 1)));
        assert_eq!(unit((1 << 20) + 1, 256), None);
        assert_eq!(unit(12, 0), None);
    }

    #[test]
    fn every_unit_fits_into_its_slots() {
        for line in (1..20_000).step_by(37) {
            for slots in [1, 2, 16, 17, 256] {
                if let Some(unit) = Unit::choose(line, 4096, slots) {
                    assert!(
                        unit.bytes().div_ceil(4096) * unit.copies * unit.repeats <= slots,
                        "{line} {slots}"
                    );
                }
            }
        }
    }
}
