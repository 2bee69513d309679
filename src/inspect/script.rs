//! The first line of a script: `#!INTERPRETER [ARGUMENT]` (execve(2), `fs/binfmt_script.c`).

use super::view;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How many bytes of a file the kernel reads before it decides (`BINPRM_BUF_SIZE`).
const READ: usize = 256;

/// The interpreter of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstLine {
    #[serde(serialize_with = "view::lossy")]
    pub interpreter: PathBuf,
    /// The one argument before the name of the script.
    pub argument: Option<String>,
}

/// `None` if the first line names no interpreter, or if the kernel reads only a part of the name.
pub fn first_line(content: &[u8]) -> Option<FirstLine> {
    let read = &content[..content.len().min(READ)];
    let rest = read.strip_prefix(b"#!")?;
    let end = rest.iter().position(|&b| b == b'\n');
    let line = trimmed(&rest[..end.unwrap_or(rest.len())]);
    let name_end = line.iter().position(|b| matches!(b, b' ' | b'\t' | 0)).unwrap_or(line.len());
    let name_is_cut = end.is_none() && content.len() > READ && name_end == line.len();
    let interpreter = PathBuf::from(std::ffi::OsStr::from_bytes(&line[..name_end]));
    let argument = trimmed(&line[name_end..]);
    let argument = (!argument.is_empty()).then(|| String::from_utf8_lossy(argument).into_owned());
    (name_end > 0 && !name_is_cut).then_some(FirstLine { interpreter, argument })
}

/// The kernel removes spaces and tabs, and nothing else. The carriage return of a line that ends as on Windows belongs to the
/// name.
fn trimmed(line: &[u8]) -> &[u8] {
    let is_kept = |b: &u8| !matches!(b, b' ' | b'\t');
    let start = line.iter().position(is_kept).unwrap_or(line.len());
    let end = line.iter().rposition(is_kept).map_or(start, |last| last + 1);
    &line[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_and_its_one_argument_are_read_as_the_kernel_reads_them() {
        let line = first_line(b"#! /usr/bin/env  python3 -S \nprint()\n").unwrap();
        assert_eq!(line.interpreter, PathBuf::from("/usr/bin/env"));
        assert_eq!(line.argument.as_deref(), Some("python3 -S"));
        assert_eq!(first_line(b"#!/bin/sh").unwrap().argument, None);
        assert_eq!(first_line(b"#!\n"), None);
        assert_eq!(first_line(b"echo"), None);
        assert_eq!(first_line(b"#!/bin/sh\r\n").unwrap().interpreter, PathBuf::from("/bin/sh\r"));
        assert_eq!(first_line(b"#!\t/bin/sh\t-e\r\n").unwrap().argument.as_deref(), Some("-e\r"));
        assert_eq!(first_line(&[b"#!/".as_slice(), &[b'a'; 300]].concat()), None);
    }
}
