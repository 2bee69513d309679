//! The files that a run executes, maps and opens for reading, by the names under which the kernel knows them.
//!
//! Nothing of a system call's arguments is read: what an exec or a loader maps stands in `/proc/PID/maps`, and what was
//! opened is asked of the descriptor.

use super::phases::Task;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The files of one run, as they come.
#[derive(Debug, Default)]
pub(super) struct Files {
    seen: BTreeSet<PathBuf>,
}

impl Files {
    /// A thread has opened a file, and this is its descriptor.
    pub(super) fn opened(&mut self, task: Task, descriptor: i64) {
        if reads_only(&format!("/proc/{}/fdinfo/{descriptor}", task.thread)) {
            self.add(fs::read_link(format!("/proc/{}/fd/{descriptor}", task.thread)).ok());
        }
    }

    /// What a process has mapped by now: after its exec, and before its exit.
    pub(super) fn mapped(&mut self, task: Task) {
        let maps = fs::read(format!("/proc/{}/maps", task.thread)).unwrap_or_default();
        for line in maps.split(|byte| *byte == b'\n') {
            self.add(path_of(line).map(Path::to_owned));
        }
    }

    fn add(&mut self, path: Option<PathBuf>) {
        self.seen.extend(path.filter(|path| path.is_absolute()));
    }

    /// Those of them that are regular files, by absolute path.
    pub(super) fn finish(self) -> BTreeSet<PathBuf> {
        // What has been removed, or renamed over, meanwhile is another file or none.
        let regular = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        self.seen.into_iter().filter(regular).collect()
    }
}

/// Whether a descriptor was opened for nothing but reading: `flags` of `proc_pid_fdinfo(5)`, octal.
fn reads_only(fdinfo: &str) -> bool {
    let info = fs::read_to_string(fdinfo).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE == libc::O_RDONLY)
}

/// The path in a line of `proc_pid_maps(5)`: what follows five fields.
fn path_of(line: &[u8]) -> Option<&Path> {
    let start = line.iter().position(|byte| *byte == b'/')?;
    Some(Path::new(std::ffi::OsStr::from_bytes(&line[start..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_has_a_path_or_none() {
        let line = b"7f0 r-xp 00000000 08:01 173521      /usr/lib/a b.so";
        assert_eq!(path_of(line), Some(Path::new("/usr/lib/a b.so")));
        assert_eq!(path_of(b"7f0 rw-p 00000000 00:00 0       [heap]"), None);
        assert_eq!(path_of(b""), None);
    }
}
