//! Which file system a file is on, and what that means for eviction.

use rustix::fs::{FsWord, fstatfs, statfs};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// A file system: its usual name, and what eviction can do there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// As `mount(8)` names it; `another file system` for one that is not in our table.
    pub name: &'static str,
    /// Where its files are.
    pub kind: FileLocation,
}

/// Where the files of a file system are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLocation {
    /// On a disk: they are read through the page cache, and can be evicted from it.
    Disk,
    /// In memory: there is nowhere to evict them to.
    Memory,
    /// Nowhere: the kernel makes them when they are read.
    Kernel,
    /// Behind something that lies between them and the page cache that we see, so nothing can be proven.
    Opaque,
}

/// Magic numbers (`include/uapi/linux/magic.h`).
const FILE_SYSTEMS: [(u32, &str, FileLocation); 20] = [
    (0xef53, "ext4", FileLocation::Disk),
    (0x5846_5342, "xfs", FileLocation::Disk),
    (0x9123_683e, "btrfs", FileLocation::Disk),
    (0xf2f5_2010, "f2fs", FileLocation::Disk),
    (0x0102_1994, "tmpfs", FileLocation::Memory),
    (0x8584_58f6, "ramfs", FileLocation::Memory),
    (0x9584_58f6, "hugetlbfs", FileLocation::Memory),
    (0x9fa0, "proc", FileLocation::Kernel),
    (0x6265_6572, "sysfs", FileLocation::Kernel),
    (0x1cd1, "devpts", FileLocation::Kernel),
    (0x6367_7270, "cgroup", FileLocation::Kernel),
    (0x0027_e0eb, "cgroup", FileLocation::Kernel),
    (0x7363_6673, "securityfs", FileLocation::Kernel),
    (0x6462_6720, "debugfs", FileLocation::Kernel),
    (0x7472_6163, "tracefs", FileLocation::Kernel),
    (0x794c_7630, "overlayfs", FileLocation::Opaque),
    (0x6573_5546, "fuse", FileLocation::Opaque),
    (0x6969, "nfs", FileLocation::Opaque),
    (0x0102_1997, "9p", FileLocation::Opaque),
    (0x2fc1_2fc1, "zfs", FileLocation::Opaque),
];

impl FileSystem {
    /// The file system of the file or folder at `path` (`statfs(2)`).
    pub fn of_path(path: &Path) -> io::Result<FileSystem> {
        Ok(FileSystem::of_magic(statfs(path)?.f_type))
    }

    /// The file system of an open file (`fstatfs(2)`).
    pub fn of_file(file: impl AsFd) -> io::Result<FileSystem> {
        Ok(FileSystem::of_magic(fstatfs(file)?.f_type))
    }

    /// One that is not in the table is taken for one on a disk, as most are.
    fn of_magic(magic: FsWord) -> FileSystem {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they have 32 bits")]
        let magic = magic as u32;
        let known = FILE_SYSTEMS.iter().find(|(number, ..)| *number == magic);
        known.map_or(
            FileSystem { name: "another file system", kind: FileLocation::Disk },
            |(_, name, kind)| FileSystem { name, kind: *kind },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_distinguished_from_those_on_a_disk() {
        let proc = FileSystem { name: "proc", kind: FileLocation::Kernel };
        assert_eq!(FileSystem::of_path(Path::new("/proc/self/maps")).unwrap(), proc);
        assert_eq!(FileSystem::of_file(std::fs::File::open("/proc/self/maps").unwrap()).unwrap(), proc);
        assert!(FileSystem::of_path(Path::new("/nonexistent/file")).is_err());
        assert_eq!(FileSystem::of_magic(0xef53), FileSystem { name: "ext4", kind: FileLocation::Disk });
        assert_eq!(
            FileSystem::of_magic(0x0102_1994),
            FileSystem { name: "tmpfs", kind: FileLocation::Memory }
        );
        assert_eq!(
            FileSystem::of_magic(1),
            FileSystem { name: "another file system", kind: FileLocation::Disk }
        );
    }
}
