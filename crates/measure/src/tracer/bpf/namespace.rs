//! The process-id namespace that we are in. A container usually has its own.

use std::path::Path;

/// Our process-id namespace: its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namespace(pub(super) u32);

/// The mount namespace that we are in, by its inode number.
pub(super) fn own_mounts() -> Option<u32> {
    inode(&std::fs::read_link("/proc/self/ns/mnt").ok()?, "mnt")
}

/// The link's text is `pid:[4026531836]` (`namespaces(7)`).
fn inode(link: &Path, kind: &str) -> Option<u32> {
    link.to_str()?.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
}

/// That of the machine: `PROC_PID_INIT_INO` in `include/linux/proc_ns.h`.
const MACHINE: Namespace = Namespace(0xefff_fffc);

impl Namespace {
    /// `None` without `/proc`, which alone knows it.
    pub(super) fn ours() -> Option<Namespace> {
        match std::fs::read_link("/proc/self/ns/pid") {
            Ok(namespace) => Namespace::of(&namespace),
            // a kernel without such namespaces has no such link
            Err(_) => Path::new("/proc/self/status").exists().then_some(MACHINE),
        }
    }

    fn of(link: &Path) -> Option<Namespace> {
        inode(link, "pid").map(Namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inode_is_that_of_the_link() {
        assert_eq!(Namespace::of(Path::new("pid:[4026531836]")), Some(MACHINE));
        assert_eq!(Namespace::of(Path::new("pid:[x]")), None);
        assert_eq!(Namespace::of(Path::new("mnt:[4026531836]")), None);
    }
}
