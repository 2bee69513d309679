//! The state of a file in the page cache: evicting it, and reading it back.
//!
//! The same binary started in 148 µs (8 page faults) when freshly linked, and in 321 µs (33) when evicted and read
//! back: one fault can map a large folio, but small folios need many faults. So all measured files are brought into
//! the same state first.
//!
//! [`cold`] makes runs whose files are not resident at all, and proves it.

pub mod cold;
mod content;
mod copies;
mod duplicate;
mod error;
pub mod file_system;
pub mod namespace;
pub mod residence;
mod used_files;

pub use cold::{Cold, ColdFiles};
pub use error::ColdError;
pub use file_system::FileSystem;
pub use residence::{cachestat, resident_pages, resident_part};
pub use used_files::UsedFiles;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Evicts a file from the page cache and reads it back in order, as any first reader would. Returns its size in
/// bytes.
pub fn evict_and_reread(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    // Dirty pages cannot be evicted.
    file.sync_all()?;
    evict(&file)?;
    io::copy(&mut file, &mut io::sink())
}

/// Evicts the clean pages of a file that no process has mapped (`posix_fadvise(2)`).
pub fn evict(file: &File) -> io::Result<()> {
    // SAFETY: plain system call on a descriptor that we own.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
