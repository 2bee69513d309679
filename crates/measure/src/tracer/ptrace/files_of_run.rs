//! The files that a run executes, maps and opens, by the names that the kernel has for them.
//!
//! System-call arguments are not read. The files that an exec or a loader maps are in `/proc/PID/maps`, and for
//! opened files the kernel is asked about the descriptor. It does not show either for a program that its user may
//! execute but not read, nor for one that has asked for that (`PR_SET_DUMPABLE` of `prctl(2)`). Then the result
//! says what could not be seen.

use super::task_tree::Task;
use crate::launch::environment;
use crate::page_cache::UsedFiles;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files of one run, as they are after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesOfRun {
    /// The files that were seen.
    pub used: UsedFiles,
    /// Why some may be missing: one lower-case line.
    pub unseen: Option<String>,
    /// A program that was executed although not even its own file could be seen: its name, and why.
    pub closed: Option<String>,
    /// The last successful exec of the first process; `None` if it could not be seen.
    pub last_exec: Option<LastExec>,
    /// Those of the other processes, as far as they could be seen.
    pub other_execs: Vec<LastExec>,
}

/// What a process executed, as the new program begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastExec {
    /// The executable file: that of a script is its interpreter.
    pub file: PathBuf,
    /// The argument vector. That of a script begins with its interpreter.
    pub words: Vec<OsString>,
    /// The variables and their values.
    pub environment: BTreeMap<OsString, OsString>,
    /// The working directory.
    pub directory: PathBuf,
}

impl LastExec {
    /// `proc_pid_exe(5)`, `proc_pid_cmdline(5)`, `proc_pid_environ(5)` and `proc_pid_cwd(5)` of a process whose exec has just returned.
    fn of(process: i32) -> Option<LastExec> {
        let texts = |name: &str| {
            let bytes = fs::read(format!("/proc/{process}/{name}")).ok()?;
            let texts = bytes.strip_suffix(b"\0").unwrap_or(&bytes).split(|byte| *byte == 0);
            Some(texts.map(|text| OsStr::from_bytes(text).to_owned()).collect::<Vec<_>>())
        };
        Some(LastExec {
            file: fs::read_link(format!("/proc/{process}/exe")).ok()?,
            words: texts("cmdline")?,
            environment: texts("environ")?.iter().filter_map(|entry| environment::parsed(entry)).collect(),
            directory: fs::read_link(format!("/proc/{process}/cwd")).ok()?,
        })
    }
}

/// Collects the files of one run.
#[derive(Debug, Default)]
pub(super) struct Files {
    seen: FilesOfRun,
    /// The first process.
    root: Option<i32>,
    /// The last exec of each other process.
    others: BTreeMap<i32, LastExec>,
    /// Device and inode of each opened file at that time.
    opened: BTreeMap<PathBuf, (u64, u64)>,
}

impl Files {
    /// A thread has opened a file, and this is its descriptor.
    pub(super) fn opened(&mut self, task: Task, descriptor: i64) {
        let flags = flags(&format!("/proc/{}/fdinfo/{descriptor}", task.thread));
        let Some(flags) = self.shown(task, flags).flatten() else { return };
        let link = format!("/proc/{}/fd/{descriptor}", task.thread);
        let path = self.shown(task, fs::read_link(&link));
        if let (Some(path), Ok(file)) = (&path, fs::metadata(&link)) {
            self.opened.insert(path.clone(), (file.dev(), file.ino()));
        }
        add(opened_with(&mut self.seen.used, flags), path);
    }

    /// A thread has set up an `io_uring`. It can open files without a system call, and even without a descriptor.
    pub(super) fn has_ring(&mut self, task: Task) {
        let name = name_of(task);
        let unseen = format!("`{name}` set up an io_uring, which can open files that a tracer does not see");
        self.seen.unseen.get_or_insert(unseen);
    }

    /// A process has executed a program.
    pub(super) fn executed(&mut self, task: Task) {
        if *self.root.get_or_insert(task.process) == task.process {
            self.seen.last_exec = LastExec::of(task.process);
        } else {
            self.others.extend(LastExec::of(task.process).map(|exec| (task.process, exec)));
        }
        let before = self.seen.unseen.take();
        self.mapped(task);
        self.seen.closed = self.seen.closed.take().or_else(|| self.seen.unseen.clone());
        self.seen.unseen = before.or(self.seen.unseen.take());
    }

    /// Adds the files that a process has mapped by now. Called after its exec and before its exit.
    pub(super) fn mapped(&mut self, task: Task) {
        let maps = fs::read(format!("/proc/{}/maps", task.thread));
        let maps = self.shown(task, maps).unwrap_or_default();
        for line in maps.split(|byte| *byte == b'\n') {
            add(&mut self.seen.used.read, path_of(line).map(Path::to_owned));
        }
    }

    /// The kernel's answer about a task; a refusal is noted. `None` also if the file was closed or the task killed
    /// meanwhile.
    fn shown<T>(&mut self, task: Task, answer: io::Result<T>) -> Option<T> {
        if let Err(error) = &answer
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            let unseen = format!("the kernel did not show what `{}` maps and opens: {error}", name_of(task));
            self.seen.unseen.get_or_insert(unseen);
        }
        answer.ok()
    }

    /// The regular files among them.
    pub(super) fn finish(mut self) -> FilesOfRun {
        // A file that was removed meanwhile is not a file any more; one that was renamed over is another file.
        let replaced = |(path, opened): &(&PathBuf, &(u64, u64))| {
            fs::symlink_metadata(path).is_ok_and(|file| (file.dev(), file.ino()) != **opened)
        };
        self.seen.used.written.extend(self.opened.iter().filter(replaced).map(|(path, _)| path.clone()));
        self.seen.other_execs = std::mem::take(&mut self.others).into_values().collect();
        let regular = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        let used = &mut self.seen.used;
        for files in [&mut used.read, &mut used.updated, &mut used.written] {
            files.retain(regular);
        }
        self.seen
    }
}

/// The name of a thread's program (`proc_pid_comm(5)`), which every user may read.
fn name_of(task: Task) -> String {
    let name = fs::read_to_string(format!("/proc/{}/comm", task.thread)).unwrap_or_default();
    name.trim_end().to_owned()
}

fn add(files: &mut BTreeSet<PathBuf>, path: Option<PathBuf>) {
    files.extend(path.filter(|path| path.is_absolute()));
}

/// The set for a file that was opened with these flags.
fn opened_with(files: &mut UsedFiles, flags: i32) -> &mut BTreeSet<PathBuf> {
    match flags & libc::O_ACCMODE {
        libc::O_RDONLY => &mut files.read,
        libc::O_WRONLY if flags & libc::O_APPEND == 0 => &mut files.written,
        _ => &mut files.updated,
    }
}

/// How a descriptor was opened: `flags` of `proc_pid_fdinfo(5)`, octal.
fn flags(fdinfo: &str) -> io::Result<Option<i32>> {
    let info = fs::read_to_string(fdinfo)?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    Ok(flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok()))
}

/// The path in a line of `proc_pid_maps(5)`: everything after five fields.
fn path_of(line: &[u8]) -> Option<&Path> {
    let start = line.iter().position(|byte| *byte == b'/')?;
    Some(Path::new(OsStr::from_bytes(&line[start..])))
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
