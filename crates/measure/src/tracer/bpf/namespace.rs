//! The process-id namespace that we are in. A container usually has its own.

use std::path::Path;

/// Our process-id namespace: its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namespace(pub(super) u32);

/// That of the machine: `PROC_PID_INIT_INO` in `include/linux/proc_ns.h`.
const MACHINE: Namespace = Namespace(0xefff_fffc);

impl Namespace {
    /// `None` without `/proc`, which alone knows it.
    pub(super) fn own() -> Option<Namespace> {
        match std::fs::read_link("/proc/self/ns/pid") {
            Ok(own) => Namespace::of(&own),
            // a kernel without such namespaces has no such link
            Err(_) => Path::new("/proc/self/status").exists().then_some(MACHINE),
        }
    }

    /// The link's text is `pid:[4026531836]` (`namespaces(7)`).
    fn of(link: &Path) -> Option<Namespace> {
        let inode = link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?;
        Some(Namespace(inode.parse().ok()?))
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
