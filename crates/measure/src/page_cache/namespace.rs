//! A mount namespace of our own: only the tracees see what is mounted in it, and it ends with us.

use super::error::ColdError;
use crate::confinement::Confinement;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{ffi::CString, ptr};

/// Moves this thread, and every process that it creates from now on, into a mount namespace of its own. Root may do
/// that; for other users it is within a new user namespace, which the kernel grants only to a process with a single
/// thread.
pub fn enter() -> Result<(), ColdError> {
    if try_unshare(libc::CLONE_NEWNS).is_err() {
        enter_as_user().map_err(|cause| ColdError::Namespace { cause })?;
    }
    // Mounts from here on must not propagate to the namespace that we leave.
    mount(None, Path::new("/"), libc::MS_REC | libc::MS_PRIVATE)
        .map_err(|cause| ColdError::Namespace { cause })
}

fn enter_as_user() -> io::Result<()> {
    // SAFETY: no arguments, no effects.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    Confinement::keep();
    try_unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    // user_namespaces(7): a process that may not set groups can map a group only after this.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn try_unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: plain system call; it changes what this thread sees, and no memory.
    if unsafe { libc::unshare(flags) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts the file `copy` over the file `original`, for this namespace.
pub(super) fn bind(copy: &Path, original: &Path) -> io::Result<()> {
    mount(Some(copy), original, libc::MS_BIND)
}

/// Undoes [`bind`]. Processes that have the copy open keep it.
pub(super) fn unbind(original: &Path) -> io::Result<()> {
    let original = CString::new(original.as_os_str().as_bytes())?;
    // SAFETY: the string outlives the call.
    let answer = unsafe { libc::umount2(original.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn mount(source: Option<&Path>, target: &Path, flags: libc::c_ulong) -> io::Result<()> {
    let c_string = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let source = source.map(c_string).transpose()?;
    let target = c_string(target)?;
    let source = source.as_ref().map_or(ptr::null(), |source| source.as_ptr());
    // SAFETY: the strings outlive the call; type and details may be null for these flags (mount(2)).
    let answer = unsafe { libc::mount(source, target.as_ptr(), ptr::null(), flags, ptr::null()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
