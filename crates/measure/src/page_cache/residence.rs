//! How much of a file is in the page cache.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::ptr;

/// `cachestat(2)`, Linux 6.5. The number is the same on every architecture; the `libc` crate's tables are older.
const CACHESTAT: libc::c_long = 451;

/// A range of a file; length 0 means to its end.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// The kernel's answer (`struct cachestat`), in pages.
#[repr(C)]
#[derive(Default)]
struct ResidenceStatistics {
    cached: u64,
    dirty: u64,
    under_writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// How many pages of the file are in the page cache: by `cachestat(2)`, or by `mincore(2)` on kernels without it.
pub fn resident_pages(file: &File) -> io::Result<u64> {
    match cachestat(file) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => by_mapping(file),
        answer => answer,
    }
}

/// How many pages of a file are in the page cache, and how many it has.
pub fn resident_part(path: &Path) -> io::Result<(u64, u64)> {
    let file = File::open(path)?;
    let pages = file.metadata()?.len().div_ceil(rustix::param::page_size() as u64);
    Ok((resident_pages(&file)?, pages))
}

/// How many pages of the file are in the page cache, by `cachestat(2)` alone (Linux 6.5).
pub fn cachestat(file: impl AsFd) -> io::Result<u64> {
    let range = Range { offset: 0, length: 0 };
    let mut statistics = ResidenceStatistics::default();
    let descriptor = file.as_fd().as_raw_fd();
    // SAFETY: both structures have the kernel's layout and outlive the call.
    let answer = unsafe { libc::syscall(CACHESTAT, descriptor, &raw const range, &raw mut statistics, 0) };
    if answer == 0 { Ok(statistics.cached) } else { Err(io::Error::last_os_error()) }
}

/// Asks `mincore(2)` about a mapping that is never touched.
fn by_mapping(file: &File) -> io::Result<u64> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(0);
    }

    let mut states = vec![0_u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: a fresh mapping of our own, of this length; `states` has a byte for each of its pages.
    let answer = unsafe {
        let base =
            libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let answer = libc::mincore(base, length, states.as_mut_ptr());
        let answer = if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        libc::munmap(base, length);
        answer
    };

    answer.map(|()| states.iter().filter(|state| *state & 1 == 1).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_was_just_written_is_resident_by_cachestat_and_by_mincore() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(by_mapping(&file).unwrap(), 0);
        let page = rustix::param::page_size();
        file.write_all(&vec![7; 3 * page + 1]).unwrap();
        assert_eq!((resident_pages(&file).unwrap(), by_mapping(&file).unwrap()), (4, 4));
    }
}
