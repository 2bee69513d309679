//! Rights that a program's file gives to everyone who executes it, and that a traced run does not get.

use rustix::fs::{StatVfsMountFlags, getxattr, statvfs};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where the rights come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// The set-user-ID bit (`S_ISUID`).
    SetUser,
    /// The set-group-ID bit (`S_ISGID`).
    SetGroup,
    /// The file's own capabilities (`capabilities(7)`, "File capabilities").
    Capabilities,
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rights::SetUser => "the rights of its set-user-ID bit",
            Rights::SetGroup => "the rights of its set-group-ID bit",
            Rights::Capabilities => "its file's capabilities",
        })
    }
}

/// The rights that a program has because of its file, and does not have when it is traced by ptrace. An exec gives
/// no rights to a process whose tracer could not have them itself, nor to one with `no_new_privs` (`execve(2)`),
/// which our filter needs. `None` also if the program would not have them anyway: it is a script, or on a file
/// system that is mounted `nosuid`. Root is assumed to have all rights.
pub fn lost_under_ptrace(program: &Path) -> Option<Rights> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() || has_no_new_privileges() || is_script(program) || is_nosuid(program) {
        return None;
    }
    let file = program.metadata().ok()?;
    let has = |bits| file.mode() & bits == bits;
    if has(libc::S_ISUID) && file.uid() != user.as_raw() {
        Some(Rights::SetUser)
    } else if has(libc::S_ISGID | libc::S_IXGRP) && file.gid() != group.as_raw() {
        // Without the execute bit it means something else (`inode(7)`).
        Some(Rights::SetGroup)
    } else {
        has_capabilities(program).then_some(Rights::Capabilities)
    }
}

fn has_no_new_privileges() -> bool {
    // SAFETY: asks for a flag of our own process.
    unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 }
}

/// For a script the kernel executes the interpreter, and takes no rights from the script. A file that cannot be
/// read is taken for a program.
fn is_script(program: &Path) -> bool {
    let mut start = [0; 2];
    File::open(program).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
}

fn is_nosuid(program: &Path) -> bool {
    statvfs(program).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::NOSUID))
}

fn has_capabilities(program: &Path) -> bool {
    let mut room = [0_u8; 64];
    getxattr(program, "security.capability", &mut room).is_ok_and(|length| length > 0)
}
