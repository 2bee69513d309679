//! Private copies of files, in a folder of the cache. We remove the folder when we end; if we cannot, the next
//! invocation does.

use super::duplicate::duplicate;
use super::error::ColdError;
use super::file_system::{FileLocation, FileSystem};
use super::namespace::{bind, unbind};
use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The folder with the copies of one invocation, which holds a lock on it (`flock(2)`) while it runs.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The folder itself, locked: anyone who may write to the cache can put another one at its path.
    opened: File,
    copies: usize,
}

/// A file that replaces its original within our namespace.
#[derive(Debug)]
pub(super) struct PrivateCopy {
    /// The path of the original.
    pub(super) original: PathBuf,
    /// The copy, opened by its own path.
    pub(super) file: File,
    /// Its size in bytes.
    pub(super) size: u64,
    /// Its name in the folder.
    name: String,
    /// What the original was when it was copied.
    copied: Option<FileState>,
    mounted: bool,
}

/// Which file this is, and since when it has been as it is: any change of a file changes one of these (inode(7)).
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileState {
    /// `None` if there is no such file.
    fn of(path: &Path) -> Option<FileState> {
        let found = fs::metadata(path).ok()?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(FileState { device: found.dev(), inode: found.ino(), size: found.size(), changed })
    }
}

/// Attempts to create and lock a folder. Until it is locked, another invocation can take it for an abandoned one and
/// remove it; that does not happen this often in a row by accident.
const TRIES: u32 = 100;

impl Folder {
    /// Creates a folder below `cache`, on a file system that files can be evicted from. Removes the folders that
    /// dead invocations left there.
    pub(super) fn new(cache: &Path) -> Result<Folder, ColdError> {
        let root = cache.join("cold");
        let unusable = |cause| ColdError::Folder { path: root.clone(), cause };
        fs::create_dir_all(&root).map_err(unusable)?;
        let FileSystem { name, kind } = FileSystem::of_path(&root).map_err(unusable)?;
        if kind != FileLocation::Disk {
            return Err(ColdError::CacheIsNoDisk { path: root, file_system: name });
        }
        remove_abandoned(&root);
        (0..TRIES)
            .find_map(|_| Folder::created(&root).transpose())
            .unwrap_or_else(|| Err(io::Error::other("other processes remove the files created in it")))
            .map_err(unusable)
    }

    /// Returns `None` if another invocation was about to remove the folder before it was locked.
    fn created(root: &Path) -> io::Result<Option<Folder>> {
        // Nobody else may reach set-user-id copies by their own paths.
        let private = Permissions::from_mode(0o700);
        let path = tempfile::Builder::new().prefix("run-").permissions(private).tempdir_in(root)?.keep();
        let Some(opened) = locked(&path)? else { return Ok(None) };
        let state = fstat(&opened)?;
        if state.st_uid != rustix::process::geteuid().as_raw() || state.st_mode & 0o077 != 0 {
            return Err(io::Error::other("another user has exchanged what was created in it"));
        }
        Ok(Some(Folder { path, opened, copies: 0 }))
    }

    /// Copies a file and mounts the copy over it.
    pub(super) fn replace(&mut self, original: &Path) -> Result<PrivateCopy, ColdError> {
        let mut copy = self.copied(original)?;
        copy.mount()?;
        Ok(copy)
    }

    /// Mounts a copy over its original again. An original that has changed is copied again first; nothing is mounted
    /// over one that no longer exists.
    pub(super) fn replace_again(&mut self, copy: &mut PrivateCopy) -> Result<(), ColdError> {
        let Some(now) = FileState::of(&copy.original) else { return Ok(()) };
        if copy.copied.as_ref() != Some(&now) {
            let fresh = self.copied(&copy.original)?;
            let old = std::mem::replace(copy, fresh);
            let _ = fs::remove_file(through(&self.opened).join(old.name));
        }
        copy.mount()
    }

    fn copied(&mut self, original: &Path) -> Result<PrivateCopy, ColdError> {
        let failed = |cause| ColdError::Copy { path: original.to_owned(), cause };
        let name = original.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{}-{name}", self.copies);
        let path = through(&self.opened).join(&name);
        self.copies += 1;

        let copied = FileState::of(original);
        let size = duplicate(original, &path).map_err(failed)?;
        let file = File::open(&path).map_err(failed)?;
        Ok(PrivateCopy { original: original.to_owned(), file, size, name, copied, mounted: false })
    }
}

impl PrivateCopy {
    fn mount(&mut self) -> Result<(), ColdError> {
        let failed = |cause| ColdError::Copy { path: self.original.clone(), cause };
        bind(&through(&self.file), &self.original).map_err(failed)?;
        self.mounted = true;
        Ok(())
    }

    /// Makes the original visible again.
    pub(super) fn unmount(&mut self) -> io::Result<()> {
        if self.mounted {
            unbind(&self.original)?;
            self.mounted = false;
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Copies that are mounted over originals lose only their names. They remain until our namespace ends.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A path to an open file that nobody else can redirect: `proc_pid_fd(5)`.
fn through(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The right to use or remove a folder; `None` if another process has it, or the folder no longer exists.
fn locked(folder: &Path) -> io::Result<Option<File>> {
    let lock = match File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        answer => answer?,
    }
    // The last holder of the lock may have removed it.
    Ok(folder.exists().then_some(lock))
}

/// Removes the folders that nobody has locked.
fn remove_abandoned(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let is_ours = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"));
        // The lock is held until the folder is gone, so that an invocation which has just created it sees the lock
        // and creates another.
        if is_ours && let Ok(Some(_lock)) = locked(&folder) {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_folders_are_removed_and_those_in_use_are_not() {
        let cache = tempfile::tempdir_in(".").unwrap();
        let root = cache.path().join("cold");
        fs::create_dir_all(root.join("run-dead")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        fs::create_dir_all(root.join("run-alive")).unwrap();
        let _alive = locked(&root.join("run-alive")).unwrap().unwrap();
        remove_abandoned(&root);
        let mut left: Vec<_> = fs::read_dir(&root).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["other", "run-alive"]);
    }

    #[test]
    fn folders_that_are_created_at_the_same_time_stay_until_they_are_dropped() {
        let cache = tempfile::tempdir_in(".").unwrap();
        if let Err(ColdError::CacheIsNoDisk { .. }) = Folder::new(cache.path()) {
            return eprintln!("skipped: this is not a disk");
        }
        let create = || {
            for n in 0..100 {
                let folder = Folder::new(cache.path()).unwrap();
                let copy = folder.path.join("copy");
                fs::write(&copy, "content").unwrap_or_else(|error| panic!("{n}: {error}"));
                remove_abandoned(&cache.path().join("cold"));
                assert_eq!(fs::read_to_string(&copy).unwrap(), "content");
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(create))));
        remove_abandoned(&cache.path().join("cold"));
        assert_eq!(fs::read_dir(cache.path().join("cold")).unwrap().count(), 0);
    }
}
