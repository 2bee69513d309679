//! Replaces a file by renaming, with its owner, its access list and its mode.

use super::entry::{FolderEntry, FoundFile};
use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, Uid, XattrFlags, fchmod, fchown, fremovexattr, fsetxattr, fstat,
    getxattr, linkat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;

/// POSIX access lists are kept under this name: acl(5), xattr(7).
const ACCESS_LIST: &str = "system.posix_acl_access";

/// How many names are tried for a temporary file.
const NAMES: usize = 100;

/// A new file in the folder of an entry. A name that it has is removed in the end.
struct Fresh<'e> {
    entry: &'e FolderEntry,
    file: File,
    name: Option<OsString>,
}

/// Whether a new file can be made beside `entry`. Leaves nothing behind.
pub(super) fn check_folder(entry: &FolderEntry) -> io::Result<()> {
    Fresh::new(entry, Mode::RUSR | Mode::WUSR).map(drop)
}

/// Writes `bytes` to a new file and renames it to `entry`. `mode` is that of a file that does not exist yet, before the
/// umask; `executable`: everyone who may read the file may execute it.
///
/// Where the old file cannot be replaced by one with the same owner and access, it is written in place.
pub(super) fn write(entry: &FolderEntry, mode: u32, executable: bool, bytes: &[u8]) -> io::Result<()> {
    entry.check_owner()?;
    match (renamed(entry, mode, executable, bytes), &entry.found) {
        (Err(cause), Some(_)) if is_about_the_place(&cause) => in_place(entry, bytes),
        (answer, _) => answer,
    }
}

/// Errors that writing in place may avoid. It would destroy the old text on a full disk.
fn is_about_the_place(cause: &io::Error) -> bool {
    use ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(cause.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy | CrossesDevices)
}

fn in_place(entry: &FolderEntry, bytes: &[u8]) -> io::Result<()> {
    let mut file = entry.open()?;
    file.set_len(0)?;
    file.write_all(bytes)
}

fn renamed(entry: &FolderEntry, mode: u32, executable: bool, bytes: &[u8]) -> io::Result<()> {
    // nobody else may open what takes the place of a file until it has that file's owner and mode
    let first = if entry.found.is_some() { 0o600 } else { mode };
    let mut fresh = Fresh::new(entry, Mode::from_raw_mode(first))?;
    fresh.file.write_all(bytes)?;
    if let Some(found) = &entry.found {
        keep_access(&fresh.file, found, executable)?;
    }
    // no fsync: it would disturb the next runs, and a power failure costs one document at most
    fresh.take_over()
}

/// The owner comes before the mode: at no moment does a file of ours have a mode that another user chose.
fn keep_access(file: &File, found: &FoundFile, executable: bool) -> io::Result<()> {
    let (new, old) = (fstat(file)?, &found.state);
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)))?;
    }
    keep_access_list(file, found)?;

    let execution = if executable { (old.st_mode & 0o444) >> 2 } else { 0 };
    // not the set-user-id bits, which every write to a file removes
    Ok(fchmod(file, Mode::from_raw_mode(old.st_mode & 0o777 | execution))?)
}

/// With an access list, the group's bits of the mode are its mask.
fn keep_access_list(file: &File, found: &FoundFile) -> io::Result<()> {
    let old = format!("/proc/self/fd/{}", found.file.as_raw_fd());
    let mut list = Vec::with_capacity(65_536); // XATTR_SIZE_MAX
    if getxattr(old, ACCESS_LIST, rustix::buffer::spare_capacity(&mut list)).is_ok() {
        return Ok(fsetxattr(file, ACCESS_LIST, &list, XattrFlags::empty())?);
    }
    // the folder may have given the new file one
    let _ = fremovexattr(file, ACCESS_LIST);
    Ok(())
}

impl<'e> Fresh<'e> {
    /// A file that has no name yet, so that nothing remains of it if we are killed; with a name where the file system
    /// has no such files (`O_TMPFILE` in open(2)).
    fn new(entry: &'e FolderEntry, mode: Mode) -> io::Result<Fresh<'e>> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        if let Ok(file) = openat(&entry.folder, ".", flags, mode)
            && std::fs::exists(name_of(&file)).unwrap_or(false)
        {
            return Ok(Fresh { entry, file: File::from(file), name: None });
        }

        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let (file, name) = with_new_name(|name| openat(&entry.folder, name, flags, mode))?;
        Ok(Fresh { entry, file: File::from(file), name: Some(name) })
    }

    /// Takes the name of the entry, in one step.
    fn take_over(mut self) -> io::Result<()> {
        let folder = &self.entry.folder;
        if self.name.is_none() {
            let open_file = name_of(&self.file);
            let linked =
                with_new_name(|name| linkat(CWD, &open_file, folder, name, AtFlags::SYMLINK_FOLLOW))?;
            self.name = Some(linked.1);
        }
        if let Some(name) = &self.name {
            renameat(folder, name, folder, &self.entry.name)?;
            self.name = None;
        }
        Ok(())
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(&self.entry.folder, name, AtFlags::empty());
        }
    }
}

/// The path of an open file, with or without a name: `proc_pid_fd(5)`.
fn name_of(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn with_new_name<T>(mut make: impl FnMut(&OsString) -> Result<T, Errno>) -> io::Result<(T, OsString)> {
    for _ in 0..NAMES {
        let random: String = std::iter::repeat_with(fastrand::alphanumeric).take(8).collect();
        let name = OsString::from(format!(".firstbyte-{random}"));
        match make(&name) {
            Err(Errno::EXIST) => {}
            answer => return Ok((answer?, name)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
