//! Page faults: what the first touch of a page costs, by where the page comes from.
//!
//! Every batch touches fresh pages of a fresh mapping, and the kernel's own count of faults (getrusage(2)) must be the
//! number of pages touched: else it is no figure.

use super::FloorError;
use super::batch::{Operation, Subject};
use super::processes::resident_pages;
use super::syscalls::{Candidate, Remark};
use firstbyte_measure::page_cache;
use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;

/// Where the pages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nowhere: zeroed memory.
    Anonymous,
    /// A file in the page cache, one page a mapping, so that no neighbour can be mapped with it.
    File,
    /// A file in the page cache, each touched page in a mapping that holds all the neighbours which a fault may map.
    FileAround,
    /// A file in the page cache, written to in a private mapping: copied.
    Copied,
    /// A file that must be read from the disk.
    Major,
}

/// Pages that the kernel maps at one fault where they are in the page cache: `fault_around_bytes`, 64 KiB by default
/// (mm/memory.c).
const AROUND: usize = 64 * 1024;

/// The kernel's counts of this process' faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    minor: i64,
    major: i64,
}

impl Counts {
    fn now() -> Counts {
        // SAFETY: plain data, filled by the kernel.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            Counts { minor: usage.ru_minflt, major: usage.ru_majflt }
        }
    }
}

/// Touches pages that have never been touched.
struct Touching {
    kind: Kind,
    /// How many pages a batch has at most.
    pages: usize,
    file: Option<File>,
    mapping: Option<Mapping>,
    before: Counts,
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
        match self.kind {
            Kind::FileAround | Kind::Major => AROUND.max(rustix::param::page_size()),
            _ => rustix::param::page_size(),
        }
    }

    fn map(&self) -> io::Result<Mapping> {
        let length = self.pages * self.stride();
        let file = self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let (read, write) = (libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE);
        match self.kind {
            Kind::Anonymous => Mapping::anonymous(length, write).inspect(|m| m.advise(libc::MADV_NOHUGEPAGE)),
            Kind::File | Kind::FileAround => self.map_again_and_again(length, file),
            Kind::Copied => Mapping::new(ptr::null_mut(), length, write, libc::MAP_PRIVATE, file),
            Kind::Major => Mapping::new(ptr::null_mut(), length, read, libc::MAP_PRIVATE, file)
                .inspect(|mapping| mapping.advise(libc::MADV_RANDOM)),
        }
    }

    /// The beginning of the file, again and again, each a mapping of its own; all of them aligned, since the kernel
    /// aligns what it maps around a fault.
    fn map_again_and_again(&self, length: usize, file: libc::c_int) -> io::Result<Mapping> {
        let stride = self.stride();
        let reserved = Mapping::anonymous(length + stride, libc::PROT_NONE)?;
        for index in 0..self.pages {
            // SAFETY: an address within the reservation, which is longer by a stride.
            let at = unsafe { self.first(&reserved).byte_add(index * stride) };
            let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
            let placed = Mapping::new(at.cast(), stride, libc::PROT_READ, flags, file)?;
            // it belongs to the reservation, which unmaps it
            std::mem::forget(placed);
        }
        Ok(reserved)
    }

    /// The first address that is touched.
    fn first(&self, mapping: &Mapping) -> *mut u8 {
        let aligned = match self.kind {
            Kind::File | Kind::FileAround => mapping.base.addr().next_multiple_of(self.stride()),
            _ => mapping.base.addr(),
        };
        mapping.base.with_addr(aligned).cast()
    }

    fn evict(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        page_cache::evict(file).map_err(|error| format!("the file cannot be evicted: {error}"))?;
        match resident_pages(file) {
            Ok(0) => Ok(()),
            Ok(pages) => Err(format!("{pages} pages of the file stay in the page cache")),
            Err(error) => Err(format!("nobody says what is in the page cache: {error}")),
        }
    }

    fn expected(&self, times: u32) -> Counts {
        match self.kind {
            Kind::Major => Counts { minor: 0, major: times.into() },
            _ => Counts { minor: times.into(), major: 0 },
        }
    }
}

impl Operation for Touching {
    fn prepare(&mut self) -> Result<(), String> {
        self.mapping = None;
        if self.kind == Kind::Major {
            self.evict()?;
        }
        self.mapping = Some(self.map().map_err(|error| format!("the pages cannot be mapped: {error}"))?);
        // the code that counts is in memory from now on
        Counts::now();
        self.before = Counts::now();
        Ok(())
    }

    fn repeat(&mut self, times: u32) -> Result<(), String> {
        let Some(mapping) = &self.mapping else { return Err("nothing is mapped".to_owned()) };
        let (first, stride) = (self.first(mapping), self.stride());
        let writes = matches!(self.kind, Kind::Anonymous | Kind::Copied);
        for page in 0..times as usize {
            // SAFETY: `times` never exceeds the pages of the mapping, which is readable, or writable where written to.
            unsafe {
                let at = first.add(page * stride);
                if writes {
                    at.write_volatile(1);
                } else {
                    let _ = at.read_volatile();
                }
            }
        }
        let after = Counts::now();
        let counted =
            Counts { minor: after.minor - self.before.minor, major: after.major - self.before.major };
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

/// Pages of a batch: enough that the reading of the counts does not matter.
const PAGES: usize = 512;
/// Far apart, or read from a disk, fewer.
const FAR_PAGES: usize = 64;

/// The kinds with their names; `folder` lies on a disk.
pub(super) fn candidates(folder: &Path) -> Vec<Candidate> {
    let kinds = [
        (Kind::Anonymous, ANONYMOUS, PAGES, None),
        (Kind::File, FILE, PAGES, Some("one page mapped; the file is in the page cache")),
        (Kind::FileAround, FILE_AROUND, FAR_PAGES, Some("64 KiB around are mapped with it (fault-around)")),
        (Kind::Copied, COPIED, PAGES, Some("as relocations and initialised variables cause them")),
        (Kind::Major, MAJOR, FAR_PAGES, Some("one page is read from the disk, without read-ahead")),
    ];
    kinds.into_iter().map(|(kind, name, pages, note)| candidate(folder, kind, name, pages, note)).collect()
}

/// The name of the figure of a zeroed page.
pub(super) const ANONYMOUS: &str = "page fault, anonymous";
/// … of one page of a file.
pub(super) const FILE: &str = "page fault, file, one page";
/// … of a file with what is around.
pub(super) const FILE_AROUND: &str = "page fault, file, with 64 KiB around";
/// … of a private copy.
pub(super) const COPIED: &str = "page fault, private copy of a file's page";
/// … of a page on the disk.
pub(super) const MAJOR: &str = "page fault, from the disk (major)";

fn candidate(folder: &Path, kind: Kind, name: &str, pages: usize, note: Option<&'static str>) -> Candidate {
    let touching = Touching { kind, pages, file: None, mapping: None, before: Counts::default() };
    let length = match kind {
        Kind::Anonymous => 0,
        Kind::File | Kind::FileAround => touching.stride(),
        _ => pages * touching.stride(),
    };
    let file = if length > 0 { written(folder, length).map(Some) } else { Ok(None) };
    let most = u32::try_from(pages).unwrap_or(1);
    let subject = |file| Subject::new(name, Touching { file, ..touching }).at_most(most);
    file.map(|file| (subject(file), Remark { lmbench: None, note }))
        .map_err(|cause| (name.to_owned(), FloorError::Resource { what: "a temporary file", cause }))
}

/// A file of so many bytes that is on the disk, and in the page cache as any first reader would leave it there.
fn written(folder: &Path, length: usize) -> io::Result<File> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&vec![1; length])?;
    file.as_file().sync_all()?;
    page_cache::settle(file.path())?;
    file.reopen()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_a_fault_for_every_page_touched() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for kind in [Kind::Anonymous, Kind::File, Kind::FileAround, Kind::Copied] {
            let file = (kind != Kind::Anonymous).then(|| written(folder.path(), 16 * AROUND).unwrap());
            let mut touching = Touching { kind, pages: 16, file, mapping: None, before: Counts::default() };
            for times in [1, 16] {
                touching.prepare().unwrap();
                touching.repeat(times).unwrap();
            }
        }
    }

    #[test]
    fn pages_that_are_there_already_are_no_figure() {
        let file = None;
        let kind = Kind::Anonymous;
        let mut touching = Touching { kind, pages: 16, file, mapping: None, before: Counts::default() };
        touching.prepare().unwrap();
        touching.repeat(16).unwrap();
        touching.before = Counts::now();
        assert!(touching.repeat(16).unwrap_err().contains("counted 0 minor"));
    }
}
