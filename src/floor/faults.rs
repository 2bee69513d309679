//! Page faults: the cost of the first touch of a page, by the source of the page.
//!
//! Every batch touches fresh pages of a fresh mapping. The kernel's own count of faults (getrusage(2)) must equal the
//! number of pages touched, or the batch is rejected.

use super::FloorError;
use super::batch::{Microbenchmark, Operation};
use super::syscalls::{Candidate, FigureText};
use firstbyte_measure::page_cache;
use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageSource {
    /// Zeroed memory.
    Anonymous,
    /// A file in the page cache, with one page per mapping, so that no neighbour can be mapped with it.
    File,
    /// A file in the page cache, with each touched page in a mapping large enough for all pages that a fault may map.
    FileAround,
    /// A page of a file in the page cache that is written to in a private mapping, and so copied.
    Copied,
    /// A file that must be read from the disk.
    Major,
}

/// The kernel maps this much around a fault if the pages are in the page cache: `fault_around_bytes`, 64 KiB by default
/// (mm/memory.c).
const AROUND: usize = 64 * 1024;

/// The kernel's counts of this thread's faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FaultCounts {
    minor: i64,
    major: i64,
}

impl FaultCounts {
    fn now() -> FaultCounts {
        // SAFETY: plain data, filled by the kernel.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            FaultCounts { minor: usage.ru_minflt, major: usage.ru_majflt }
        }
    }
}

/// Touches pages that have never been touched.
struct Touching {
    source: PageSource,
    /// The maximum number of pages of a batch.
    pages: usize,
    file: Option<File>,
    mapping: Option<Mapping>,
    before: FaultCounts,
}

/// A mapping of our own.
struct Mapping {
    base: *mut c_void,
    length: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing points into.
        unsafe { libc::munmap(self.base, self.length) };
    }
}

impl Mapping {
    fn anonymous(length: usize, access: libc::c_int) -> io::Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        Mapping::new(ptr::null_mut(), length, access, flags, -1)
    }

    fn new(
        at: *mut c_void,
        length: usize,
        access: libc::c_int,
        flags: libc::c_int,
        file: libc::c_int,
    ) -> io::Result<Mapping> {
        // SAFETY: a new mapping, or one over a reservation of our own.
        let base = unsafe { libc::mmap(at, length, access, flags, file, 0) };
        if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Mapping { base, length }) }
    }

    fn advise(&self, advice: libc::c_int) {
        // SAFETY: advice about our own mapping.
        unsafe { libc::madvise(self.base, self.length, advice) };
    }
}

impl Touching {
    /// From one touched page to the next.
    fn stride(&self) -> usize {
        match self.source {
            PageSource::FileAround | PageSource::Major => AROUND.max(rustix::param::page_size()),
            _ => rustix::param::page_size(),
        }
    }

    fn map(&self) -> io::Result<Mapping> {
        let length = self.pages * self.stride();
        let file = self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let (read, write) = (libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE);
        match self.source {
            PageSource::Anonymous => {
                Mapping::anonymous(length, write).inspect(|m| m.advise(libc::MADV_NOHUGEPAGE))
            }
            PageSource::File | PageSource::FileAround => self.map_repeatedly(length, file),
            PageSource::Copied => Mapping::new(ptr::null_mut(), length, write, libc::MAP_PRIVATE, file),
            PageSource::Major => Mapping::new(ptr::null_mut(), length, read, libc::MAP_PRIVATE, file)
                .inspect(|mapping| mapping.advise(libc::MADV_RANDOM)),
        }
    }

    /// Maps the beginning of the file repeatedly. Every mapping is aligned, because the kernel aligns the range that it
    /// maps around a fault.
    fn map_repeatedly(&self, length: usize, file: libc::c_int) -> io::Result<Mapping> {
        let stride = self.stride();
        let reserved = Mapping::anonymous(length + stride, libc::PROT_NONE)?;
        for index in 0..self.pages {
            // SAFETY: the address is in the reservation, which is longer by one stride.
            let at = unsafe { self.first(&reserved).byte_add(index * stride) };
            let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
            let placed = Mapping::new(at.cast(), stride, libc::PROT_READ, flags, file)?;
            // It is part of the reservation, which unmaps it.
            std::mem::forget(placed);
        }
        Ok(reserved)
    }

    /// The first address to touch.
    fn first(&self, mapping: &Mapping) -> *mut u8 {
        let aligned = match self.source {
            PageSource::File | PageSource::FileAround => mapping.base.addr().next_multiple_of(self.stride()),
            _ => mapping.base.addr(),
        };
        mapping.base.with_addr(aligned).cast()
    }

    fn evict(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        page_cache::evict(file).map_err(|error| format!("the file cannot be evicted: {error}"))?;
        match page_cache::resident_pages(file) {
            Ok(0) => Ok(()),
            Ok(pages) => Err(format!("{pages} pages of the file stay in the page cache")),
            Err(error) => Err(format!("cannot ask the page cache: {error}")),
        }
    }

    fn writes(&self) -> bool {
        matches!(self.source, PageSource::Anonymous | PageSource::Copied)
    }

    /// Brings the code that touches and counts into memory: its own page faults would be counted, too.
    fn warm_up(&self) {
        let mut byte = 0_u8;
        let index = self.mapping.as_ref().map_or(ptr::null_mut(), |mapping| self.first(mapping));
        std::hint::black_box((index, self.stride()));
        // SAFETY: the one byte is ours.
        unsafe { touch(&raw mut byte, 0, 1, self.writes()) };
        FaultCounts::now();
    }

    fn expected(&self, times: u32) -> FaultCounts {
        match self.source {
            PageSource::Major => FaultCounts { minor: 0, major: times.into() },
            _ => FaultCounts { minor: times.into(), major: 0 },
        }
    }
}

/// Touches one byte in each of some places.
///
/// # Safety
/// Each place can be read, and written if `writes`.
unsafe fn touch(first: *mut u8, stride: usize, times: u32, writes: bool) {
    for index in 0..times as usize {
        // SAFETY: as the caller promises.
        unsafe {
            let at = first.add(index * stride);
            if writes {
                at.write_volatile(1);
            } else {
                let _ = at.read_volatile();
            }
        }
    }
}

impl Operation for Touching {
    fn prepare(&mut self) -> Result<(), String> {
        self.mapping = None;
        if self.source == PageSource::Major {
            self.evict()?;
        }
        self.mapping = Some(self.map().map_err(|error| format!("the pages cannot be mapped: {error}"))?);
        self.warm_up();
        self.before = FaultCounts::now();
        Ok(())
    }

    /// While it is timed, the kernel may evict a page of our own code, whose fault would count, too.
    fn tries(&self) -> u32 {
        5
    }

    fn repeat(&mut self, times: u32) -> Result<(), String> {
        let Some(mapping) = &self.mapping else { return Err("nothing is mapped".to_owned()) };
        // SAFETY: `times` is at most the number of pages in the mapping, which is writable if it is written to.
        unsafe { touch(self.first(mapping), self.stride(), times, self.writes()) };

        let after = FaultCounts::now();
        let counted =
            FaultCounts { minor: after.minor - self.before.minor, major: after.major - self.before.major };
        if counted == self.expected(times) {
            Ok(())
        } else {
            Err(format!(
                "{times} pages were touched, but the kernel counted {} minor and {} major faults",
                counted.minor, counted.major
            ))
        }
    }
}

/// Pages per batch: enough that reading the counts does not matter.
const PAGES: usize = 512;
/// Pages per batch if they are far apart or read from a disk.
const FAR_PAGES: usize = 64;

/// `folder` is on a disk.
pub(super) fn candidates(folder: &Path) -> Vec<Candidate> {
    let kinds = [
        (PageSource::Anonymous, ANONYMOUS, PAGES, None),
        (PageSource::File, FILE, PAGES, Some("one page is mapped; the file is in the page cache")),
        (
            PageSource::FileAround,
            FILE_AROUND,
            FAR_PAGES,
            Some("the 64 KiB around it are mapped by the same fault (fault-around)"),
        ),
        (
            PageSource::Copied,
            COPIED,
            PAGES,
            Some("caused by relocations and initialised variables, for example"),
        ),
        (PageSource::Major, MAJOR, FAR_PAGES, Some("one page is read from the disk, without read-ahead")),
    ];

    kinds
        .into_iter()
        .map(|(source, name, pages, note)| candidate(folder, source, name, pages, note))
        .collect()
}

// The names of the figures.
pub(super) const ANONYMOUS: &str = "page fault, anonymous";
pub(super) const FILE: &str = "page fault, file, one page";
pub(super) const FILE_AROUND: &str = "page fault, file, with 64 KiB around";
pub(super) const COPIED: &str = "page fault, private copy of a file's page";
pub(super) const MAJOR: &str = "page fault, from the disk (major)";

fn candidate(
    folder: &Path,
    source: PageSource,
    name: &str,
    pages: usize,
    note: Option<&'static str>,
) -> Candidate {
    let touching = Touching { source, pages, file: None, mapping: None, before: FaultCounts::default() };
    let length = match source {
        PageSource::Anonymous => 0,
        PageSource::File | PageSource::FileAround => touching.stride(),
        _ => pages * touching.stride(),
    };
    let file = if length > 0 { written(folder, length).map(Some) } else { Ok(None) };
    let most = u32::try_from(pages).unwrap_or(1);
    let benchmark = |file| Microbenchmark::new(name, Touching { file, ..touching }).at_most(most);
    file.map(|file| (benchmark(file), FigureText { lmbench: None, note }))
        .map_err(|cause| (name.to_owned(), FloorError::Resource { what: "a temporary file", cause }))
}

/// Writes a file of `length` bytes to the disk, and brings it into the page cache in the state that a first reader
/// leaves.
fn written(folder: &Path, length: usize) -> io::Result<File> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&vec![1; length])?;
    file.as_file().sync_all()?;
    page_cache::evict_and_reread(file.path())?;
    file.reopen()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_one_fault_per_touched_page() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for source in [PageSource::Anonymous, PageSource::File, PageSource::FileAround, PageSource::Copied] {
            let file =
                (source != PageSource::Anonymous).then(|| written(folder.path(), 16 * AROUND).unwrap());
            let mut touching =
                Touching { source, pages: 16, file, mapping: None, before: FaultCounts::default() };
            for times in [1, 16] {
                touching.prepare().unwrap();
                touching.repeat(times).unwrap();
            }
        }
    }

    #[test]
    fn touching_mapped_pages_again_is_an_error() {
        let file = None;
        let source = PageSource::Anonymous;
        let mut touching =
            Touching { source, pages: 16, file, mapping: None, before: FaultCounts::default() };
        touching.prepare().unwrap();
        touching.repeat(16).unwrap();
        touching.before = FaultCounts::now();
        assert!(touching.repeat(16).unwrap_err().contains("counted 0 minor"));
    }
}
