//! Folders that are removed even if their owner is killed: by the next process that makes one.

use crate::launch::LaunchError;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat};
use rustix::io::Errno;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Begins the names of those among other temporary files. Nobody else uses it.
const TEMPORARY: &str = ".firstbyte-own-";

/// The random end of a name.
const RANDOM: usize = 6;

/// Attempts to create and lock a folder. Until it is locked, another invocation can take it for an abandoned one and
/// remove it; that does not happen this often in a row by accident.
const TRIES: u32 = 100;

/// A folder that only this user may use. It is locked (`flock(2)`) until it is dropped, and removed then.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    /// The folder itself, locked: anyone who may write to its parent can put another one at its path.
    opened: File,
}

impl OwnFolder {
    /// A folder for temporary files.
    pub fn temporary() -> Result<OwnFolder, LaunchError> {
        OwnFolder::new(&std::env::temp_dir(), TEMPORARY).map_err(|cause| LaunchError::TemporaryFile { cause })
    }

    /// Creates a folder in `parent`, with a name that begins with `prefix`. Removes those of dead processes first.
    pub fn new(parent: &Path, prefix: &str) -> io::Result<OwnFolder> {
        remove_abandoned(parent, prefix);
        (0..TRIES)
            .find_map(|_| OwnFolder::created(parent, prefix).transpose())
            .unwrap_or_else(|| Err(io::Error::other("other processes remove the files created in it")))
    }

    /// Returns `None` if another invocation was about to remove the folder before it was locked.
    fn created(parent: &Path, prefix: &str) -> io::Result<Option<OwnFolder>> {
        let path = made(parent, prefix)?;
        let Some(opened) = locked(&path)? else { return Ok(None) };
        if !is_private(&opened)? {
            return Err(io::Error::other("another user has exchanged what was created in it"));
        }
        Ok(Some(OwnFolder { path, opened }))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself, whatever is at its path now.
    pub fn opened(&self) -> &File {
        &self.opened
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A new folder with a random name, which only this user may use: `mkdtemp(3)`.
fn made(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    let template = parent.join([prefix, &"X".repeat(RANDOM)].concat()).into_os_string();
    let mut template = CString::new(template.into_vec())?.into_bytes_with_nul();
    // SAFETY: a string that ends with NUL, whose last characters are replaced.
    if unsafe { libc::mkdtemp(template.as_mut_ptr().cast()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    template.pop();
    Ok(PathBuf::from(OsString::from_vec(template)))
}

/// The right to use or remove a folder; `None` if another process has it, or the folder no longer exists.
fn locked(folder: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = match rustix::fs::open(folder, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        opened => File::from(opened?),
    };
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        answer => answer?,
    }
    // The last holder of the lock may have removed it.
    Ok(folder.exists().then_some(lock))
}

/// Whether only this user may use it.
fn is_private(folder: &File) -> io::Result<bool> {
    let state = fstat(folder)?;
    Ok(state.st_uid == rustix::process::geteuid().as_raw() && state.st_mode & 0o7777 == 0o700)
}

/// Removes the folders that nobody has locked.
fn remove_abandoned(parent: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_one = |name: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.len() == RANDOM);
        // The lock is held until the folder is gone, so that an invocation which has just created it sees the lock
        // and creates another.
        if name.to_str().is_some_and(is_one)
            && let Ok(Some(lock)) = locked(&entry.path())
            && is_private(&lock).unwrap_or(false)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_folders_that_were_made_here_and_that_nobody_uses_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let of = |name: &str| parent.path().join(name);
        let make = |name: &str, mode| {
            fs::create_dir(of(name)).unwrap();
            fs::set_permissions(of(name), Permissions::from_mode(mode)).unwrap();
            fs::write(of(name).join("file"), "content").unwrap();
        };
        make("run-deadXX", 0o700);
        make("run-aliveX", 0o700);
        for others in ["run-results", "other", "run-"] {
            make(others, 0o700);
        }
        make("run-shared", 0o755);
        symlink("other", of("run-linkXX")).unwrap();
        fs::write(of("run-fileXX"), "content").unwrap();

        let _alive = locked(&of("run-aliveX")).unwrap().unwrap();
        let before = names(parent.path());
        let folder = OwnFolder::new(parent.path(), "run-").unwrap();
        assert!(folder.path().exists());
        drop(folder);
        let kept: Vec<_> = before.into_iter().filter(|name| name != "run-deadXX").collect();
        assert_eq!(names(parent.path()), kept);
        assert!(of("other/file").exists());
    }

    #[test]
    fn folders_that_are_created_at_the_same_time_stay_until_they_are_dropped() {
        let parent = tempfile::tempdir().unwrap();
        let create = || {
            for n in 0..100 {
                let folder = OwnFolder::new(parent.path(), "run-").unwrap();
                let file = folder.path().join("file");
                fs::write(&file, "content").unwrap_or_else(|error| panic!("{n}: {error}"));
                remove_abandoned(parent.path(), "run-");
                assert_eq!(fs::read_to_string(&file).unwrap(), "content");
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(create))));
        remove_abandoned(parent.path(), "run-");
        assert_eq!(names(parent.path()).len(), 0);
    }
}
