//! Which arguments of a system call are paths: by name, so that every table and ABI has them.

/// Name, position of the first path, position of the second.
type Entry = (&'static str, u8, Option<u8>);

/// `man 2` of each.
const PATHS: &[Entry] = &[
    ("access", 0, None),
    ("acct", 0, None),
    ("chdir", 0, None),
    ("chmod", 0, None),
    ("chown", 0, None),
    ("chown32", 0, None),
    ("chroot", 0, None),
    ("creat", 0, None),
    ("execve", 0, None),
    ("execveat", 1, None),
    ("faccessat", 1, None),
    ("faccessat2", 1, None),
    ("fchmodat", 1, None),
    ("fchownat", 1, None),
    ("fstatat64", 1, None),
    ("fstatat", 1, None),
    ("getxattr", 0, None),
    ("inotify_add_watch", 1, None),
    ("lchown", 0, None),
    ("lchown32", 0, None),
    ("lgetxattr", 0, None),
    ("link", 0, Some(1)),
    ("linkat", 1, Some(3)),
    ("listxattr", 0, None),
    ("lstat", 0, None),
    ("lstat64", 0, None),
    ("memfd_create", 0, None),
    ("mkdir", 0, None),
    ("mkdirat", 1, None),
    ("mknod", 0, None),
    ("mknodat", 1, None),
    ("mount", 0, Some(1)),
    ("name_to_handle_at", 1, None),
    ("newfstatat", 1, None),
    ("oldlstat", 0, None),
    ("oldstat", 0, None),
    ("open", 0, None),
    ("openat", 1, None),
    ("openat2", 1, None),
    ("readlink", 0, None),
    ("readlinkat", 1, None),
    ("rename", 0, Some(1)),
    ("renameat", 1, Some(3)),
    ("renameat2", 1, Some(3)),
    ("rmdir", 0, None),
    ("stat", 0, None),
    ("stat64", 0, None),
    ("statfs", 0, None),
    ("statfs64", 0, None),
    ("statx", 1, None),
    ("symlink", 0, Some(1)),
    ("symlinkat", 0, Some(2)),
    ("truncate", 0, None),
    ("truncate64", 0, None),
    ("umount2", 0, None),
    ("unlink", 0, None),
    ("unlinkat", 1, None),
    ("utime", 0, None),
    ("utimensat", 1, None),
];

/// A system call's number, and the positions of its paths from 0.
pub type PathArguments = Vec<(u32, [Option<u8>; 2])>;

/// The calls of the native table and of the 32-bit one that take paths.
pub fn path_arguments() -> (PathArguments, PathArguments) {
    (of_table(super::native_number), of_table(super::compat_number))
}

fn of_table(number: fn(&str) -> Option<u32>) -> PathArguments {
    let entries = PATHS.iter();
    entries.filter_map(|(name, first, second)| Some((number(name)?, [Some(*first), *second]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn both_tables_of_x86_have_their_own_numbers() {
        let (native, compat) = path_arguments();
        assert!(native.contains(&(257, [Some(1), None])), "openat");
        assert!(compat.contains(&(295, [Some(1), None])), "openat");
        assert!(native.contains(&(88, [Some(0), Some(1)])), "symlink");
    }
}
