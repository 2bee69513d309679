#![doc = include_str!("../README.md")]
//!
//! The folder of a build is `CACHE/KIND/PROGRAM/KEY/`. firstbyte has builds of two kinds: `corpus` (programs) and
//! `runtime` (architectures).

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const MARKER: &str = "built.json";
const STAGING: &str = ".staging";

/// How long an entry other than the newest is kept after its last use. Another process may be running it.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// The folder of all builds of one kind.
#[derive(Clone, Debug)]
pub struct BuildCache {
    root: PathBuf,
}

/// Why there is no cache. The message ends with its `help:` line.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// No environment variable says where the cache is.
    #[error(
        "there is no cache folder: FIRSTBYTE_CACHE, XDG_CACHE_HOME and HOME are not set\nhelp: export FIRSTBYTE_CACHE=DIR"
    )]
    Nowhere,
    /// The folder cannot be created or written.
    #[error("cannot use the cache folder `{}`: {cause}\nhelp: export FIRSTBYTE_CACHE=DIR", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
}

/// The right to build one program, and to remove its builds. Dropping it releases the lock, and so does a crash.
#[derive(Debug)]
pub struct Lock {
    folder: PathBuf,
    _file: File,
}

#[derive(Serialize, Deserialize)]
struct Marker {
    /// Each file as it was built, by its path relative to the entry.
    files: BTreeMap<PathBuf, Content>,
}

/// What a file was when it was built. A crash of the machine can leave a file of the right size that contains zeros.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    /// In bytes.
    size: u64,
    /// `st_mode` of inode(7): also its type, and who may execute it.
    mode: u32,
    /// Of its bytes, or of the path that a symbolic link contains, in hexadecimal digits.
    sha256: String,
}

impl Content {
    fn of(path: &Path) -> io::Result<Content> {
        let found = fs::symlink_metadata(path)?;
        let mut hash = Sha256::new();
        if found.is_symlink() {
            hash.update(fs::read_link(path)?.as_os_str().as_bytes());
        } else if found.is_file() {
            io::copy(&mut File::open(path)?, &mut hash)?;
        }
        let digest = hash.finalize();
        let sha256 = digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        Ok(Content { size: found.len(), mode: found.mode(), sha256 })
    }
}

impl BuildCache {
    /// The user's cache of one kind of builds, in [`user_folder`].
    pub fn of_user(kind: &str) -> Result<BuildCache, CacheError> {
        let root = user_folder().ok_or(CacheError::Nowhere)?;
        BuildCache::at(&root, kind)
    }

    /// The cache of one kind of builds in this folder, which is created if necessary.
    pub fn at(root: &Path, kind: &str) -> Result<BuildCache, CacheError> {
        let unusable = |cause| CacheError::Unusable { path: root.to_owned(), cause };
        let absolute = std::path::absolute(root).map_err(unusable)?;
        let cache = BuildCache { root: absolute.join(kind) };
        fs::create_dir_all(&cache.root).map_err(unusable)?;
        check_writers(&absolute, kind).map_err(unusable)?;
        rustix::fs::access(&cache.root, rustix::fs::Access::WRITE_OK)
            .map_err(|error| unusable(error.into()))?;
        Ok(cache)
    }

    /// Waits for the right to build this program. While another process has it, this calls `interrupted` every 20 ms,
    /// and fails with `ErrorKind::Interrupted` once that returns true.
    pub fn lock(&self, program: &str, interrupted: impl Fn() -> bool) -> io::Result<Lock> {
        use rustix::fs::{FlockOperation, flock};
        let folder = self.root.join(program);
        fs::create_dir_all(&folder)?;
        check_writers_of(&fs::symlink_metadata(&folder)?)?;
        let file = File::options().create(true).truncate(false).write(true).open(folder.join(".lock"))?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { folder, _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if interrupted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Lock {
    /// The complete build with this key, or `None`. Marks it as used.
    pub fn entry(&self, key: &str) -> Option<PathBuf> {
        whole(self.folder.join(key))
    }

    /// An empty folder to build in. Removes the rest of an interrupted build first.
    pub fn staging(&self) -> io::Result<PathBuf> {
        let staging = self.folder.join(STAGING);
        remove(&staging)?;
        fs::create_dir(&staging)?;
        Ok(staging)
    }

    /// Turns the staging folder into the entry with this key, in one step.
    pub fn seal(&self, key: &str) -> io::Result<PathBuf> {
        let staging = self.folder.join(STAGING);
        let mut files = BTreeMap::new();
        list(&staging, &staging, &mut files)?;
        fs::write(staging.join(MARKER), serde_json::to_vec_pretty(&Marker { files })?)?;
        let entry = self.folder.join(key);
        remove(&entry)?;
        fs::rename(&staging, &entry)?;
        Ok(entry)
    }

    /// Removes a failed build except for its log. Returns the path of the log.
    pub fn give_up(&self, log: &str) -> io::Result<PathBuf> {
        let kept = self.folder.join("failed.log");
        fs::rename(self.folder.join(STAGING).join(log), &kept)?;
        remove(&self.folder.join(STAGING))?;
        Ok(kept)
    }

    /// Removes the builds of this program, except `newest` and those used within the last day. Returns how many.
    pub fn collect_garbage(&self, newest: &str) -> io::Result<usize> {
        let mut removed = 0;
        for found in fs::read_dir(&self.folder)? {
            let entry = found?.path();
            let kept = entry.file_name().is_some_and(|name| name == newest) || !is_stale(&entry);
            if !kept {
                remove(&entry)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// The complete build with this key, or `None`. Needs no lock and works with a read-only cache. Marks the build as used
/// if possible.
pub fn entry(root: &Path, kind: &str, program: &str, key: &str) -> Option<PathBuf> {
    let root = std::path::absolute(root).ok()?;
    check_writers(&root, kind).ok()?;
    whole(root.join(kind).join(program).join(key))
}

/// Refuses folders in which others could exchange what we are going to execute.
fn check_writers(root: &Path, kind: &str) -> io::Result<()> {
    let folder = root.join(kind);
    // in a folder such as `/tmp` nobody can exchange a folder of ours, but anybody could have created it
    let is_shared = fs::metadata(root)?.mode() & 0o1002 == 0o1002;
    let metadata = [fs::symlink_metadata(&folder)?, fs::metadata(&folder)?];
    let root = (!is_shared).then(|| fs::metadata(root)).transpose()?;
    metadata.iter().chain(&root).try_for_each(check_writers_of)
}

fn check_writers_of(found: &Metadata) -> io::Result<()> {
    let refused = |cause: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, cause));
    if ![0, rustix::process::geteuid().as_raw()].contains(&found.uid()) {
        return refused("it belongs to another user");
    }
    let own_group = found.gid() == rustix::process::getegid().as_raw() || found.gid() == 0;
    let others = if own_group { 0o002 } else { 0o022 };
    if !found.is_symlink() && found.mode() & others != 0 {
        return refused("other users may write to it");
    }
    Ok(())
}

fn whole(entry: PathBuf) -> Option<PathBuf> {
    // a umask of 0 lets everybody write to them
    for folder in entry.ancestors().take(2) {
        check_writers_of(&fs::symlink_metadata(folder).ok()?).ok()?;
    }

    let marker: Marker = serde_json::from_slice(&fs::read(entry.join(MARKER)).ok()?).ok()?;
    let whole = marker
        .files
        .iter()
        .all(|(path, built)| Content::of(&entry.join(path)).is_ok_and(|found| found == *built));
    // Only the collection of garbage reads this time, so an entry without write permission can be used as well.
    let _ =
        File::options().append(true).open(entry.join(MARKER)).and_then(|f| f.set_modified(SystemTime::now()));
    whole.then_some(entry)
}

/// The user's cache folder of firstbyte: `$FIRSTBYTE_CACHE`, `$XDG_CACHE_HOME/firstbyte` or `~/.cache/firstbyte`. It
/// may not exist yet. `None` if no variable is set.
pub fn user_folder() -> Option<PathBuf> {
    root_of_user(|name| std::env::var_os(name))
}

/// Empty variables count as unset (XDG Base Directory Specification).
fn root_of_user(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("FIRSTBYTE_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|folder| folder.join("firstbyte")))
        .or_else(|| folder("HOME").map(|folder| folder.join(".cache/firstbyte")))
}

/// Whether an entry was not used for a day.
fn is_stale(entry: &Path) -> bool {
    let used = fs::metadata(entry.join(MARKER)).and_then(|marker| marker.modified());
    used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > GRACE))
}

/// Tries again for a while: a build that has been killed may still write to the folder before it dies.
fn remove(folder: &Path) -> io::Result<()> {
    const TRIES: usize = 50;
    for _ in 0..TRIES {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(()),
        }
    }
    fs::remove_dir_all(folder)
}

fn list(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Content>) -> io::Result<()> {
    for found in fs::read_dir(folder)? {
        let path = found?.path();
        if fs::symlink_metadata(&path)?.is_dir() {
            list(root, &path, files)?;
        } else {
            files.insert(path.strip_prefix(root).unwrap_or(&path).to_owned(), Content::of(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn cache() -> (tempfile::TempDir, BuildCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = BuildCache::at(folder.path(), "corpus").unwrap();
        (folder, cache)
    }

    fn put(lock: &Lock, key: &str) -> PathBuf {
        let staging = lock.staging().unwrap();
        fs::write(staging.join("test"), key).unwrap();
        symlink("test", staging.join("link")).unwrap();
        lock.seal(key).unwrap()
    }

    #[test]
    fn an_entry_exists_only_once_it_is_sealed() {
        let (_folder, cache) = cache();
        let lock = cache.lock("c", || false).unwrap();
        fs::write(lock.staging().unwrap().join("test"), "half").unwrap();
        assert_eq!(lock.entry("key"), None);
        let entry = put(&lock, "key");
        assert_eq!(lock.entry("key"), Some(entry.clone()));
        assert_eq!(fs::read_to_string(entry.join("test")).unwrap(), "key");
    }

    #[test]
    fn a_damaged_entry_counts_as_absent_and_is_replaced() {
        let (_folder, cache) = cache();
        let lock = cache.lock("c", || false).unwrap();
        let entry = put(&lock, "key");
        let damages: [&dyn Fn(); 7] = [
            &|| fs::write(entry.join("test"), "longer than it was").unwrap(),
            &|| fs::write(entry.join("test"), [0; 3]).unwrap(), // as long as it was
            &|| fs::set_permissions(entry.join("test"), fs::Permissions::from_mode(0o600)).unwrap(),
            &|| {
                fs::remove_file(entry.join("link")).unwrap();
                symlink("tost", entry.join("link")).unwrap();
            },
            &|| fs::remove_file(entry.join("test")).unwrap(),
            &|| fs::write(entry.join(MARKER), "{").unwrap(),
            &|| fs::remove_file(entry.join(MARKER)).unwrap(),
        ];
        for damage in damages {
            damage();
            assert_eq!(lock.entry("key"), None);
            put(&lock, "key");
            assert_eq!(lock.entry("key"), Some(entry.clone()));
        }
    }

    #[test]
    fn only_one_process_has_the_lock() {
        let (_folder, cache) = cache();
        let held = cache.lock("c", || false).unwrap();
        let error = cache.lock("c", || true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(cache.lock("other", || false).is_ok());
        drop(held);
        // A child that another test has just forked may have a copy of the lock until its exec.
        assert!(cache.lock("c", || false).is_ok());
    }

    #[test]
    fn the_first_variable_that_is_set_determines_the_folder() {
        let root = |set: &[(&str, &str)]| {
            root_of_user(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
            })
        };
        let all = [("FIRSTBYTE_CACHE", "/f"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(root(&all), Some("/f".into()));
        assert_eq!(root(&all[1..]), Some("/x/firstbyte".into()));
        assert_eq!(root(&all[2..]), Some("/h/.cache/firstbyte".into()));
        assert_eq!(root(&[("FIRSTBYTE_CACHE", ""), ("HOME", "/h")]), Some("/h/.cache/firstbyte".into()));
        assert_eq!(root(&[]), None);
    }

    #[test]
    fn garbage_is_neither_the_newest_nor_used_recently() {
        let (_folder, cache) = cache();
        let lock = cache.lock("c", || false).unwrap();
        for key in ["old", "used", "new"] {
            put(&lock, key);
        }
        for key in ["old", "new"] {
            let marker = File::options().append(true).open(lock.folder.join(key).join(MARKER)).unwrap();
            marker.set_modified(SystemTime::now() - 2 * GRACE).unwrap();
        }
        assert_eq!(lock.collect_garbage("new").unwrap(), 1);
        assert_eq!(lock.entry("old"), None);
        assert!(lock.entry("used").is_some() && lock.entry("new").is_some());
    }

    #[test]
    fn a_cache_that_cannot_be_created_is_an_error_with_help() {
        let text = BuildCache::at(Path::new("/proc/firstbyte"), "corpus").unwrap_err().to_string();
        assert!(text.contains("`/proc/firstbyte`") && text.contains("\nhelp: "), "{text}");
    }

    #[test]
    fn a_build_that_others_could_have_exchanged_is_not_used() {
        let (folder, cache) = cache();
        let lock = cache.lock("c", || false).unwrap();
        let built = put(&lock, "key");
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let found = || (lock.entry("key"), entry(folder.path(), "corpus", "c", "key"));
        assert_eq!(found(), (Some(built.clone()), Some(built.clone())));
        for path in [&built, built.parent().unwrap()] {
            set(path, 0o777);
            assert_eq!(found(), (None, None), "{path:?}");
            set(path, 0o755);
        }
        set(built.parent().unwrap(), 0o777);
        assert_eq!(cache.lock("c", || true).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (root, kind) = (folder.path().join("cache"), folder.path().join("cache/corpus"));
        BuildCache::at(&root, "corpus").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let refused = || {
            assert_eq!(entry(&root, "corpus", "c", "key"), None);
            BuildCache::at(&root, "corpus").unwrap_err().to_string()
        };
        for path in [&root, &kind] {
            set(path, 0o777);
            assert!(refused().contains(": other users may write to it\nhelp: "));
            set(path, 0o755);
        }
        set(&root, 0o1777);
        BuildCache::at(&root, "corpus").unwrap();
        if !rustix::process::geteuid().is_root() {
            return;
        }

        chown(&kind, Some(65533), None).unwrap();
        assert!(refused().contains(": it belongs to another user\nhelp: "));
        fs::rename(&kind, folder.path().join("elsewhere")).unwrap();
        chown(folder.path().join("elsewhere"), Some(0), None).unwrap();
        symlink("../elsewhere", &kind).unwrap();
        std::os::unix::fs::lchown(&kind, Some(65533), None).unwrap();
        assert!(refused().contains(": it belongs to another user\nhelp: "));
    }
}
