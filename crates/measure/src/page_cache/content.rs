//! Copies the content of a file, of which a measured program may have chosen any.

use crate::launch::interrupt;
use rustix::fs::{SeekFrom, fstat, fstatvfs, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::fs::FileExt;

/// How many bytes are copied before the next check for an interruption by the user.
const PART: u64 = 64 << 20;

/// Copies what `source` contains. Holes stay holes: a sparse file may be larger than the disk. Returns the size in bytes.
///
/// # Errors
/// Also if the copy would fill the disk, if the file grows, and if the user interrupts us.
pub(super) fn copy(source: &File, copy: &File) -> io::Result<u64> {
    check_room(source, copy)?;
    let size = source.metadata()?.len();
    copy.set_len(size)?;

    let mut end = 0;
    while let Some(begin) = data_from(source, end)?.filter(|begin| *begin < size) {
        end = hole_from(source, begin, size)?;
        copy_range(source, copy, begin, end)?;
    }

    match source.read_at(&mut [0], size)? {
        0 => Ok(size),
        _ => Err(io::Error::other("it contains more than its size says, or it grows")),
    }
}

fn check_room(source: &File, copy: &File) -> io::Result<()> {
    let (needed, disk) = (fstat(source)?, fstatvfs(copy)?);
    // st_blocks is in units of 512 bytes: inode(7)
    let needed = u64::try_from(needed.st_blocks).unwrap_or(0).saturating_mul(512);
    if needed <= disk.f_bavail.saturating_mul(disk.f_frsize) {
        return Ok(());
    }
    Err(io::Error::new(
        ErrorKind::StorageFull,
        "the disk of the cache folder has too little free space for it",
    ))
}

/// Where the next data begins: lseek(2). `None` if only a hole follows. Some file systems know of no holes (EINVAL).
fn data_from(source: &File, at: u64) -> io::Result<Option<u64>> {
    match seek(source, SeekFrom::Data(at)) {
        Err(Errno::NXIO) => Ok(None),
        Err(Errno::INVAL) => Ok(Some(at)),
        answer => Ok(Some(answer?)),
    }
}

/// Where the data ends.
fn hole_from(source: &File, at: u64, size: u64) -> io::Result<u64> {
    match seek(source, SeekFrom::Hole(at)) {
        Err(Errno::INVAL) => Ok(size),
        answer => Ok(answer?.min(size)),
    }
}

fn copy_range(mut source: &File, mut copy: &File, begin: u64, end: u64) -> io::Result<()> {
    source.seek(io::SeekFrom::Start(begin))?;
    copy.seek(io::SeekFrom::Start(begin))?;

    let mut at = begin;
    while at < end {
        if interrupt::interrupted().is_some() {
            return Err(ErrorKind::Interrupted.into());
        }
        match io::copy(&mut source.take(PART.min(end - at)), &mut copy)? {
            0 => return Err(io::Error::other("it became shorter while it was copied")),
            part => at += part,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn data_is_copied_and_holes_stay_holes() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let create = |name| {
            File::options().read(true).write(true).create_new(true).open(folder.path().join(name)).unwrap()
        };
        let (source, target) = (create("source"), create("copy"));
        // larger than any disk
        let size = 1 << 42;
        if source.set_len(size).is_err() {
            return eprintln!("skipped: this file system has no such large files");
        }
        let written = [(0, "at the beginning"), (1 << 40, "in the middle"), (size - 3, "end")];
        for (offset, text) in written {
            source.write_all_at(text.as_bytes(), offset).unwrap();
        }

        assert_eq!(copy(&source, &target).unwrap(), size);
        assert_eq!(target.metadata().unwrap().len(), size);
        assert!(target.metadata().unwrap().blocks() <= source.metadata().unwrap().blocks());
        for (offset, text) in written {
            let mut found = vec![0; text.len()];
            target.read_exact_at(&mut found, offset).unwrap();
            assert_eq!(found, text.as_bytes());
        }
    }

    #[test]
    fn a_file_of_unknown_size_is_refused() {
        let target = tempfile::tempfile().unwrap();
        let source = File::open("/proc/self/status").unwrap();
        assert!(copy(&source, &target).unwrap_err().to_string().contains("more than its size"));
    }
}
