//! Reads files whose names, kinds and sizes a measured program may have chosen.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The content of a regular file of at most `longest` bytes, and what the file system says about it.
///
/// # Errors
/// Those of reading and of [`open`], and [`io::ErrorKind::InvalidInput`] for a longer file: one with a hole may be larger
/// than the memory.
pub fn read(path: &Path, longest: u64) -> io::Result<(Vec<u8>, Metadata)> {
    let (file, facts) = open(path)?;
    if facts.len() > longest {
        return Err(io::ErrorKind::InvalidInput.into());
    }

    let mut bytes = Vec::new();
    file.take(longest).read_to_end(&mut bytes)?;
    Ok((bytes, facts))
}

/// Opens a regular file for reading.
///
/// # Errors
/// Also [`io::ErrorKind::InvalidInput`] for anything else: a FIFO would wait for a writer, and a device may never end.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let regular = |facts: Metadata| {
        facts.is_file().then_some(facts).ok_or(io::Error::from(io::ErrorKind::InvalidInput))
    };
    regular(fs::metadata(path)?)?;
    // another file may be there by now
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let facts = regular(file.metadata()?)?;
    Ok((file, facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_limited_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let [file, fifo, link] = ["file", "fifo", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "12345").unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());

        let (bytes, facts) = read(&file, 5).unwrap();
        assert_eq!((&*bytes, facts.len()), (&b"12345"[..], 5));
        for refused in [read(&file, 4), read(&fifo, 5), read(&link, 5), read(folder.path(), 5)] {
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
