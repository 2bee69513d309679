//! Temporary files for what programs write.

use super::diagnosis::LaunchError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// How much of a file is searched for its last line, in bytes.
const TAIL: u64 = 65_536;

/// A file without a name.
pub fn temporary_file() -> Result<File, LaunchError> {
    tempfile::tempfile().map_err(|cause| LaunchError::TemporaryFile { cause })
}

/// The last line of a file that is not empty. Empty if there is none.
pub fn last_line(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |found| found.len());
    let tail = file.seek(SeekFrom::Start(length.saturating_sub(TAIL)));
    let _ = tail.and_then(|_| file.take(TAIL).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_last_line_is_found_however_much_is_before_it() {
        let mut file = temporary_file().unwrap();
        assert_eq!(last_line(&mut file), "");
        file.write_all("a line\n".repeat(100_000).as_bytes()).unwrap();
        file.write_all(b"the last one\n \n").unwrap();
        assert_eq!(last_line(&mut file), "the last one");
    }
}
