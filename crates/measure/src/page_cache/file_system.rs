//! On which kind of file system a file is, and what that means for eviction.

use std::io;
use std::path::Path;

/// What can be said of the files of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They come from a disk through the page cache, and can be evicted from it.
    Disk,
    /// They are memory: there is nowhere to evict them to.
    Memory(&'static str),
    /// They are made by the kernel when they are read.
    Kernel(&'static str),
    /// Something lies between them and the page cache that we see, so that nothing can be proven.
    Opaque(&'static str),
}

/// The kind of the file system that holds `path`, by its magic number (`statfs(2)`).
pub fn kind(path: &Path) -> io::Result<Kind> {
    let found = rustix::fs::statfs(path)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    let magic = found.f_type as u32;
    Ok(of_magic(magic))
}

/// The numbers of `include/uapi/linux/magic.h`.
fn of_magic(magic: u32) -> Kind {
    match magic {
        0x0102_1994 => Kind::Memory("tmpfs"),
        0x8584_58f6 => Kind::Memory("ramfs"),
        0x9584_58f6 => Kind::Memory("hugetlbfs"),
        0x9fa0 => Kind::Kernel("proc"),
        0x6265_6572 => Kind::Kernel("sysfs"),
        0x1cd1 => Kind::Kernel("devpts"),
        0x6367_7270 | 0x0027_e0eb => Kind::Kernel("cgroup"),
        0x7363_6673 => Kind::Kernel("securityfs"),
        0x6462_6720 => Kind::Kernel("debugfs"),
        0x7472_6163 => Kind::Kernel("tracefs"),
        0x794c_7630 => Kind::Opaque("overlayfs"),
        0x6573_5546 => Kind::Opaque("fuse"),
        0x6969 => Kind::Opaque("nfs"),
        0x0102_1997 => Kind::Opaque("9p"),
        0x2fc1_2fc1 => Kind::Opaque("zfs"),
        _ => Kind::Disk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_told_from_those_of_a_disk() {
        assert_eq!(kind(Path::new("/proc/self/maps")).unwrap(), Kind::Kernel("proc"));
        assert!(kind(Path::new("/nonexistent/file")).is_err());
        assert_eq!(of_magic(0xef53), Kind::Disk, "ext4");
        assert_eq!(of_magic(0x0102_1994), Kind::Memory("tmpfs"));
    }
}
