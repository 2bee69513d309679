//! Private copies of files, in a folder of the cache. Copies that are mounted over originals only lose their names when the
//! folder is removed: they remain until our namespace ends.

use super::duplicate::duplicate;
use super::error::ColdError;
use super::file_system::{FileLocation, FileSystem};
use super::namespace::{bind, unbind};
use crate::own_folder::OwnFolder;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder with the copies of one invocation.
#[derive(Debug)]
pub(super) struct Folder {
    folder: OwnFolder,
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
        // Nobody else may reach set-user-id copies by their own paths.
        let folder = OwnFolder::new(&root, "run-").map_err(unusable)?;
        Ok(Folder { folder, copies: 0 })
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
            let _ = fs::remove_file(through(self.folder.opened()).join(old.name));
        }
        copy.mount()
    }

    fn copied(&mut self, original: &Path) -> Result<PrivateCopy, ColdError> {
        let failed = |cause| ColdError::Copy { path: original.to_owned(), cause };
        // not with the name of the original, which may be as long as a name can be
        let name = self.copies.to_string();
        let path = through(self.folder.opened()).join(&name);
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

/// A path to an open file that nobody else can redirect: `proc_pid_fd(5)`.
fn through(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_change_is_noticed_even_if_size_and_second_are_the_same() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("file");
        let written = |content: &str| {
            fs::write(&path, content).unwrap();
            FileState::of(&path).unwrap()
        };
        // Several times, because a second may begin in between. The kernel's clock for files ticks every 10 ms at most.
        let mut before = written("a");
        for content in ["b", "c", "d"] {
            std::thread::sleep(Duration::from_millis(20));
            let now = written(content);
            assert_ne!(now, before, "{content}");
            before = now;
        }
        assert_eq!(FileState::of(&folder.path().join("missing")), None);
    }
}
