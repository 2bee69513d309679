//! A copy that a program cannot tell from its original.
//!
//! The copy has the content, owner, group, mode, access list, capabilities, other extended attributes and times. What
//! differs is what no copy can have: the device, the numbers of the inode and its links, and the time of its last
//! change of state.

use super::content;
use crate::regular_file;
use rustix::fs::{
    Access, AtFlags, CWD, Gid, Mode, Stat, StatVfsMountFlags, Timespec, Timestamps, Uid, XattrFlags,
    accessat, fchmod, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr, fstat, fstatvfs, futimens,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The mode's bits for set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

/// What `capabilities(7)` are kept under.
const CAPABILITIES: &str = "security.capability";

/// Whom a user namespace shows in place of users and groups that it does not know: `user_namespaces(7)`.
const UNKNOWN: u32 = 65534;

/// The longest list of attributes, and the longest attribute (`XATTR_SIZE_MAX` in include/uapi/linux/limits.h).
const ATTRIBUTE_SIZE: usize = 65_536;

/// The extended attributes of a file: xattr(7).
type Attributes = BTreeMap<String, Vec<u8>>;

/// Copies a file to `path`, where none exists, and writes the copy to the disk. Returns its size in bytes.
///
/// A user without privileges cannot give files away. A copy of another user's file is then the user's own, and allows
/// what the original allows this user.
///
/// # Errors
///
/// Also if the copy would differ in what the program may do or is.
pub(super) fn duplicate(original: &Path, path: &Path) -> io::Result<u64> {
    let (source, before) = regular_file::open(original)?;
    let copy = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    let size = content::copy(&source, &copy)?;

    let (state, attributes) = (fstat(&source)?, attributes_of(&source)?);
    let gives_rights = state.st_mode & SET_ID != 0 || attributes.contains_key(CAPABILITIES);
    compare_mounts(&source, &copy, gives_rights, state.st_mode)?;

    match give_to_owner(&copy, &state) {
        Ok(()) => make_same(&copy, &state, &attributes)?,
        Err(Errno::PERM | Errno::INVAL) if gives_rights => {
            return Err(io::Error::other(
                "it is set-user-id, set-group-id or has capabilities, which only root can copy",
            ));
        }
        Err(Errno::PERM | Errno::INVAL) => make_own(&copy, original, &state, &attributes)?,
        Err(error) => return Err(error.into()),
    }

    set_times(&copy, &before)?;
    // Dirty pages cannot be evicted.
    copy.sync_all()?;
    Ok(size)
}

/// Gives the copy to the owner of the original. The error is EINVAL if our user namespace does not know that owner.
fn give_to_owner(copy: &File, state: &Stat) -> Result<(), Errno> {
    let is_whole = || fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.contains("4294967295"));
    if [state.st_uid, state.st_gid].contains(&UNKNOWN) && !is_whole() {
        return Err(Errno::INVAL);
    }
    fchown(copy, Some(Uid::from_raw(state.st_uid)), Some(Gid::from_raw(state.st_gid)))
}

/// The mount of the copy's folder decides whether it may be executed and whether set-user-id works: mount(8).
fn compare_mounts(source: &File, copy: &File, gives_rights: bool, mode: u32) -> io::Result<()> {
    let (theirs, ours) = (fstatvfs(source)?.f_flag, fstatvfs(copy)?.f_flag);
    let differs = |flag: StatVfsMountFlags| theirs.contains(flag) != ours.contains(flag);
    let refused =
        |what: &str| Err(io::Error::other(format!("only one of it and the cache folder is mounted {what}")));
    if gives_rights && differs(StatVfsMountFlags::NOSUID) {
        return refused("nosuid");
    }
    if mode & 0o111 != 0 && differs(StatVfsMountFlags::NOEXEC) {
        return refused("noexec");
    }
    Ok(())
}

/// The copy has its owner already. A change of owner removes set-user-id bits and capabilities, so they come after it.
fn make_same(copy: &File, state: &Stat, attributes: &Attributes) -> io::Result<()> {
    for (name, value) in attributes {
        set_attribute(copy, name, value)?;
    }
    // what a new file inherits from its folder
    for name in attributes_of(copy)?.keys().filter(|name| !attributes.contains_key(*name)) {
        fremovexattr(copy, name.as_str()).map_err(|error| uncopied(name, error))?;
    }
    fchmod(copy, Mode::from_raw_mode(state.st_mode))?;

    let made = fstat(copy)?;
    let visible = |state: &Stat| (state.st_uid, state.st_gid, state.st_mode, state.st_size);
    if visible(&made) == visible(state) { Ok(()) } else { Err(io::Error::other("the copy differs from it")) }
}

/// The copy belongs to this user, who may do with it what the original allows, and nothing else.
fn make_own(copy: &File, original: &Path, state: &Stat, attributes: &Attributes) -> io::Result<()> {
    for (name, value) in attributes.iter().filter(|(name, _)| name.starts_with("user.")) {
        set_attribute(copy, name, value)?;
    }
    let allowed = |access| accessat(CWD, original, access, AtFlags::EACCESS).is_ok();
    let rights = [(Access::READ_OK, 0o400), (Access::WRITE_OK, 0o200), (Access::EXEC_OK, 0o100)];
    let bits: u32 = rights.into_iter().filter(|(access, _)| allowed(*access)).map(|(_, bit)| bit).sum();
    Ok(fchmod(copy, Mode::from_raw_mode(state.st_mode & 0o077 | bits))?)
}

fn attributes_of(file: &File) -> io::Result<Attributes> {
    let mut names = Vec::with_capacity(ATTRIBUTE_SIZE);
    match flistxattr(file, rustix::buffer::spare_capacity(&mut names)) {
        Err(Errno::NOTSUP) => return Ok(Attributes::new()),
        answer => answer?,
    };
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| attribute(file, &String::from_utf8_lossy(name))).collect()
}

fn attribute(file: &File, name: &str) -> io::Result<(String, Vec<u8>)> {
    let mut value = Vec::with_capacity(ATTRIBUTE_SIZE);
    fgetxattr(file, name, rustix::buffer::spare_capacity(&mut value))
        .map_err(|error| uncopied(name, error))?;
    Ok((name.to_owned(), value))
}

fn set_attribute(copy: &File, name: &str, value: &[u8]) -> io::Result<()> {
    fsetxattr(copy, name, value, XattrFlags::empty()).map_err(|error| uncopied(name, error))
}

fn uncopied(name: &str, error: Errno) -> io::Error {
    io::Error::other(format!("its extended attribute `{name}` cannot be copied: {error}"))
}

/// Some interpreters compare the time of a source with the file that they compiled from it.
fn set_times(copy: &File, state: &Metadata) -> io::Result<()> {
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(state.atime(), state.atime_nsec()),
        last_modification: time(state.mtime(), state.mtime_nsec()),
    };
    Ok(futimens(copy, &times)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::path::PathBuf;

    fn files() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir_in(".").unwrap();
        let (original, copy) = (folder.path().join("original"), folder.path().join("copy"));
        fs::write(&original, "content").unwrap();
        (folder, original, copy)
    }

    fn seen(path: &Path) -> (u32, u32, u32, i64, u64, Attributes) {
        let found = fs::metadata(path).unwrap();
        let attributes = attributes_of(&File::open(path).unwrap()).unwrap();
        (found.uid(), found.gid(), found.mode(), found.mtime_nsec(), found.len(), attributes)
    }

    #[test]
    fn a_copy_has_the_same_content_permissions_and_time() {
        let (_folder, original, copy) = files();
        fs::set_permissions(&original, Permissions::from_mode(0o555)).unwrap();
        File::open(&original).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(duplicate(&original, &copy).unwrap(), 7);
        assert_eq!(fs::metadata(&copy).unwrap().mtime(), 0);
        assert_eq!(seen(&copy), seen(&original));
        assert_eq!(fs::read_to_string(&copy).unwrap(), "content");
    }

    #[test]
    fn a_copy_by_root_keeps_owner_group_set_user_id_capabilities_and_attributes() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root can make files of others");
        }
        let (_folder, original, copy) = files();
        chown(&original, Some(1234), Some(1235)).unwrap();
        fs::set_permissions(&original, Permissions::from_mode(0o6751)).unwrap();
        let file = File::open(&original).unwrap();
        // cap_net_raw+ep: struct vfs_cap_data in include/uapi/linux/capability.h
        let words = [0x0200_0001_u32, 1 << 13, 0, 0, 0];
        let capabilities: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let set = |name: &str, value: &[u8]| fsetxattr(&file, name, value, XattrFlags::empty());
        if set(CAPABILITIES, &capabilities).is_err() || set("user.note", b"mine").is_err() {
            return eprintln!("skipped: this file system has no extended attributes");
        }
        duplicate(&original, &copy).unwrap();
        assert_eq!(seen(&copy), seen(&original));
        assert_eq!(seen(&copy).5.len(), 2);
        assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o7777, 0o6751);
    }

    #[test]
    fn a_copy_has_no_attribute_that_its_folder_hands_down() {
        let (folder, original, copy) = files();
        // user::rwx, group::r-x, group 1235: rwx, mask::rwx, other::--- (`acl(5)`, `posix_acl_xattr.h`)
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, access, id) in
            [(1_u16, 7_u16, u32::MAX), (4, 5, u32::MAX), (8, 7, 1235), (16, 7, u32::MAX), (32, 0, u32::MAX)]
        {
            list.extend(tag.to_le_bytes().into_iter().chain(access.to_le_bytes()).chain(id.to_le_bytes()));
        }
        let folder = File::open(folder.path()).unwrap();
        if fsetxattr(&folder, "system.posix_acl_default", &list, XattrFlags::empty()).is_err() {
            return eprintln!("skipped: this file system has no access lists");
        }
        duplicate(&original, &copy).unwrap();
        assert_eq!(seen(&copy), seen(&original));
    }
}
