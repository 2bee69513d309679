//! Which arguments of a system call are paths.

use super::CallTable;
use std::sync::LazyLock;

/// The positions of a call's first and second path among its arguments, from 0.
pub type PathPositions = [Option<u8>; 2];

/// See `man 2` of each.
const PATHS: [(&str, PathPositions); 59] = [
    ("access", [Some(0), None]),
    ("acct", [Some(0), None]),
    ("chdir", [Some(0), None]),
    ("chmod", [Some(0), None]),
    ("chown", [Some(0), None]),
    ("chown32", [Some(0), None]),
    ("chroot", [Some(0), None]),
    ("creat", [Some(0), None]),
    ("execve", [Some(0), None]),
    ("execveat", [Some(1), None]),
    ("faccessat", [Some(1), None]),
    ("faccessat2", [Some(1), None]),
    ("fchmodat", [Some(1), None]),
    ("fchownat", [Some(1), None]),
    ("fstatat64", [Some(1), None]),
    ("fstatat", [Some(1), None]),
    ("getxattr", [Some(0), None]),
    ("inotify_add_watch", [Some(1), None]),
    ("lchown", [Some(0), None]),
    ("lchown32", [Some(0), None]),
    ("lgetxattr", [Some(0), None]),
    ("link", [Some(0), Some(1)]),
    ("linkat", [Some(1), Some(3)]),
    ("listxattr", [Some(0), None]),
    ("lstat", [Some(0), None]),
    ("lstat64", [Some(0), None]),
    ("memfd_create", [Some(0), None]),
    ("mkdir", [Some(0), None]),
    ("mkdirat", [Some(1), None]),
    ("mknod", [Some(0), None]),
    ("mknodat", [Some(1), None]),
    ("mount", [Some(0), Some(1)]),
    ("name_to_handle_at", [Some(1), None]),
    ("newfstatat", [Some(1), None]),
    ("oldlstat", [Some(0), None]),
    ("oldstat", [Some(0), None]),
    ("open", [Some(0), None]),
    ("openat", [Some(1), None]),
    ("openat2", [Some(1), None]),
    ("readlink", [Some(0), None]),
    ("readlinkat", [Some(1), None]),
    ("rename", [Some(0), Some(1)]),
    ("renameat", [Some(1), Some(3)]),
    ("renameat2", [Some(1), Some(3)]),
    ("rmdir", [Some(0), None]),
    ("stat", [Some(0), None]),
    ("stat64", [Some(0), None]),
    ("statfs", [Some(0), None]),
    ("statfs64", [Some(0), None]),
    ("statx", [Some(1), None]),
    ("symlink", [Some(0), Some(1)]),
    ("symlinkat", [Some(0), Some(2)]),
    ("truncate", [Some(0), None]),
    ("truncate64", [Some(0), None]),
    ("umount2", [Some(0), None]),
    ("unlink", [Some(0), None]),
    ("unlinkat", [Some(1), None]),
    ("utime", [Some(0), None]),
    ("utimensat", [Some(1), None]),
];

/// Where each call that takes paths has them.
pub fn path_arguments() -> &'static CallTable<PathPositions> {
    static TABLE: LazyLock<CallTable<PathPositions>> = LazyLock::new(|| CallTable::by_name(&PATHS));
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::super::call_table::is_known;
    use super::*;

    #[test]
    fn every_name_is_a_system_call_somewhere() {
        for (name, _) in PATHS {
            assert!(is_known(name), "{name}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn both_tables_of_x86_have_their_own_numbers() {
        use super::super::{Abi, Syscall};
        let paths = |abi, number| path_arguments().get(Syscall { abi, number });
        assert_eq!(paths(Abi::Native, 257), Some([Some(1), None]), "openat");
        assert_eq!(paths(Abi::Compat, 295), Some([Some(1), None]), "openat");
        assert_eq!(paths(Abi::Native, 88), Some([Some(0), Some(1)]), "symlink");
    }
}
