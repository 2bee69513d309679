//! The file behind a path: an open folder and a name in it.
//!
//! In a folder that everyone may write to, such as `/tmp`, others may exchange what a path leads to at any moment. So a
//! path is looked up once. Everything that follows is relative to the open folder, and symbolic links and files that
//! another user put there are refused. Those are the kernel's rules `fs.protected_symlinks`, `fs.protected_regular` and
//! `fs.protected_fifos` (`proc_sys_fs(5)`), here also for root and where they are switched off.

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The kernel follows as many: `path_resolution(7)`.
const LINKS: usize = 40;

/// A folder with this bit and open to everyone's writing: only the owner may delete or rename a file in it.
const SHARED: u32 = 0o1002;

/// Who owns the files of users that a user namespace does not know: `user_namespaces(7)`.
const UNKNOWN: u32 = 65534;

/// A name in a folder, and the file that has it now.
#[derive(Debug)]
pub(super) struct FolderEntry {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    /// `None` if there is no such file.
    pub(super) found: Option<FoundFile>,
}

/// A file, open only to be asked about (`O_PATH`).
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) file: OwnedFd,
    pub(super) state: Stat,
}

impl FolderEntry {
    /// The file behind a path. Symbolic links that end the path are followed, and a file need not exist.
    pub(super) fn behind(path: &Path) -> io::Result<FolderEntry> {
        let (mut path, mut expected) = (path.to_owned(), None);
        for _ in 0..LINKS {
            let entry = FolderEntry::at(&path)?;
            let Some(found) = entry.found.as_ref().filter(|found| found.is(FileType::Symlink)) else {
                return entry.unless_exchanged(expected);
            };

            entry.trusted(&found.state)?;
            match FoundFile::at(&entry.folder, &entry.name, OFlags::empty())? {
                // whatever it is, a link in /proc/PID/fd may not name it: `pipe:[123]`
                Some(target) if !target.is(FileType::RegularFile) => {
                    return Ok(FolderEntry { found: Some(target), ..entry });
                }
                Some(target) => (path, expected) = (fs::canonicalize(&path)?, Some(target.identity())),
                None => path = folder_of(&path).join(found.leads_to()?),
            }
        }
        Err(io::Error::other("too many levels of symbolic links"))
    }

    fn at(path: &Path) -> io::Result<FolderEntry> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, folder_of(path), flags, Mode::empty())?;
        let found = FoundFile::at(&folder, &name, OFlags::NOFOLLOW)?;
        Ok(FolderEntry { folder, name, found })
    }

    /// Others may replace a part of a path between two checks of it.
    fn unless_exchanged(self, expected: Option<(u64, u64)>) -> io::Result<FolderEntry> {
        match expected {
            Some(_) if self.found.as_ref().map(FoundFile::identity) != expected => {
                Err(io::Error::other("it was exchanged while it was opened"))
            }
            _ => Ok(self),
        }
    }

    /// Whether this may be written to by us: the file that has the name, or a new one.
    pub(super) fn check_owner(&self) -> io::Result<()> {
        self.found.as_ref().map_or(Ok(()), |found| self.trusted(&found.state))
    }

    fn trusted(&self, state: &Stat) -> io::Result<()> {
        let folder = fstat(&self.folder)?;
        let ours = rustix::process::geteuid().as_raw();
        let by_owner = state.st_uid == folder.st_uid && state.st_uid != UNKNOWN;
        if folder.st_mode & SHARED != SHARED || state.st_uid == ours || by_owner {
            return Ok(());
        }
        let cause = "it belongs to another user, in a folder that everyone may write to";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, cause))
    }

    /// Opens the file that was found, and no other, for writing.
    pub(super) fn open(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.folder, &self.name, flags, Mode::empty())?;
        let state = fstat(&file)?;
        if self.found.as_ref().map(FoundFile::identity) == Some((state.st_dev, state.st_ino)) {
            return Ok(File::from(file));
        }
        Err(io::Error::other("it was exchanged while it was opened"))
    }

    /// The same for the same place, whatever path led there.
    pub(super) fn identity(&self) -> Option<PathBuf> {
        let folder = fstat(&self.folder).ok()?;
        Some(Path::new(&format!("{}:{}", folder.st_dev, folder.st_ino)).join(&self.name))
    }
}

impl FoundFile {
    fn at(folder: &OwnedFd, name: &OsStr, flags: OFlags) -> io::Result<Option<FoundFile>> {
        match openat(folder, name, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty()) {
            // only then: any other error is the kernel's refusal to follow a link
            Err(Errno::NOENT) => Ok(None),
            opened => {
                let file = opened?;
                let state = fstat(&file)?;
                Ok(Some(FoundFile { file, state }))
            }
        }
    }

    pub(super) fn is(&self, kind: FileType) -> bool {
        FileType::from_raw_mode(self.state.st_mode) == kind
    }

    /// The device and the number of the inode.
    pub(super) fn identity(&self) -> (u64, u64) {
        (self.state.st_dev, self.state.st_ino)
    }

    fn leads_to(&self) -> io::Result<PathBuf> {
        let target = readlinkat(&self.file, "", Vec::new())?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }
}

/// The folder of a path.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
