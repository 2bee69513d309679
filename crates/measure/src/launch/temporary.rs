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

/// How much of that line is returned, in characters: it becomes part of a message.
const MAX_LINE_CHARS: usize = 500;

/// The last line of a file that is not empty, or its beginning. Empty if there is none.
pub fn last_line(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |found| found.len());
    let tail = file.seek(SeekFrom::Start(length.saturating_sub(TAIL)));
    let _ = tail.and_then(|_| file.take(TAIL).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let end = line.char_indices().nth(MAX_LINE_CHARS).map(|(end, _)| end);
    end.map_or_else(|| line.to_owned(), |end| format!("{}…", &line[..end]))
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

    #[test]
    fn of_a_long_line_the_beginning_is_shown() {
        let mut file = temporary_file().unwrap();
        file.write_all("é".repeat(3_000).as_bytes()).unwrap();
        assert_eq!(last_line(&mut file), "é".repeat(MAX_LINE_CHARS) + "…");
    }
}
