//! Exports to folders where another user has prepared something. Only root can play both parts.

use super::super::{Target, write_program};
use super::{names, target};
use rustix::fs::{Gid, Uid, XattrFlags, chownat, getxattr, setxattr};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const STRANGER: u32 = 65533;

/// A folder as `/tmp` is: everyone may write, only owners may delete. `None` for users other than root.
fn shared_folder() -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can make files of another user");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    Some(folder)
}

fn is_refused(target: &Target) {
    for answer in [target.check(), target.write("x")] {
        let error = answer.unwrap_err();
        assert_eq!(error.cause.kind(), ErrorKind::PermissionDenied, "{error}");
        assert!(
            error.to_string().contains("it belongs to another user, in a folder that everyone"),
            "{error}"
        );
    }
}

#[test]
fn a_strangers_link_in_a_shared_folder_is_not_followed() {
    let Some(shared) = shared_folder() else { return };
    let private = tempfile::tempdir().unwrap();
    let (existing, absent) = (private.path().join("existing"), private.path().join("absent"));
    fs::write(&existing, "secret").unwrap();
    for leads_to in [&existing, &absent] {
        let link = shared.path().join("link");
        symlink(leads_to, &link).unwrap();
        lchown(&link, Some(STRANGER), Some(STRANGER)).unwrap();
        is_refused(&target(&link));
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(fs::read_to_string(&existing).unwrap(), "secret");
    assert_eq!((names(private.path()), names(shared.path()).len()), (vec!["existing".to_owned()], 0));
}

#[test]
fn our_own_link_in_a_shared_folder_is_followed() {
    let Some(shared) = shared_folder() else { return };
    let link = shared.path().join("link");
    symlink("file", &link).unwrap();
    for text in ["new", "replaced"] {
        target(&link).check().unwrap();
        target(&link).write(text).unwrap();
        assert_eq!(fs::read_to_string(shared.path().join("file")).unwrap(), text);
    }
    assert!(link.is_symlink());
}

#[test]
fn a_file_or_pipe_that_a_stranger_prepared_in_a_shared_folder_is_refused() {
    let Some(shared) = shared_folder() else { return };
    let path = shared.path().join("out");
    fs::write(&path, "prepared").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let pipe = super::named_pipe(shared.path());
    for prepared in [&path, &pipe] {
        chown(prepared, Some(STRANGER), Some(STRANGER)).unwrap();
        is_refused(&target(prepared));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "prepared");
}

#[test]
fn a_replaced_file_keeps_its_owner_and_group_with_its_mode() {
    let Some(_) = shared_folder() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for mode in [0o666, 0o640] {
        fs::write(&path, "first").unwrap();
        chown(&path, Some(STRANGER), Some(STRANGER)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        target(&path).write("second").unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (STRANGER, STRANGER, mode));
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("second", 1));
    }
}

#[test]
fn a_replaced_program_is_no_longer_set_user_id() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    fs::write(&path, "first").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o4744)).unwrap();
    write_program(&path, b"second").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
}

/// `user::rw-, user:STRANGER:rw-, group::---, mask::rw-, other::---` as the kernel keeps it
/// (`include/uapi/linux/posix_acl_xattr.h`).
fn access_list() -> Vec<u8> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, access, id) in [
        (1_u16, 6_u16, u32::MAX),
        (2, 6, STRANGER),
        (4, 0, u32::MAX),
        (0x10, 6, u32::MAX),
        (0x20, 0, u32::MAX),
    ] {
        list.extend(tag.to_le_bytes());
        list.extend(access.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

#[test]
fn a_replaced_file_keeps_its_access_list() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let path = folder.path().join("out");
    fs::write(&path, "first").unwrap();
    let name = "system.posix_acl_access";
    if setxattr(&path, name, &access_list(), XattrFlags::empty()).is_err() {
        return eprintln!("skipped: this file system has no access lists");
    }
    target(&path).write("second").unwrap();
    let mut list = Vec::with_capacity(1000);
    getxattr(&path, name, rustix::buffer::spare_capacity(&mut list)).unwrap();
    assert_eq!(list, access_list());
}

/// The stranger puts a link there between our looks, and takes it away again.
#[test]
fn a_link_that_comes_and_goes_is_never_followed() {
    let Some(shared) = shared_folder() else { return };
    let private = tempfile::tempdir().unwrap();
    let (path, secret) = (shared.path().join("out"), private.path().join("secret"));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                exchange(shared.path(), &path, &secret);
            }
        });
        for _ in 0..3000 {
            let _ = target(&path).write("x");
            assert!(!secret.exists(), "it was followed");
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(names(shared.path()).iter().all(|name| !name.starts_with(".firstbyte")));
}

fn exchange(folder: &Path, path: &Path, leads_to: &Path) {
    let prepared = folder.join("prepared");
    let _ = fs::remove_file(&prepared);
    symlink(leads_to, &prepared).unwrap();
    let (user, group) = (Uid::from_raw(STRANGER), Gid::from_raw(STRANGER));
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    chownat(rustix::fs::CWD, &prepared, Some(user), Some(group), flags).unwrap();
    let _ = fs::remove_file(path);
    fs::rename(&prepared, path).unwrap();
    let _ = fs::remove_file(path);
}
