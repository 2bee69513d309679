//! Why runs cannot be cold.

use crate::confinement::Confinement;
use std::io;
use std::path::PathBuf;

/// Why there are no cold runs.
#[derive(Debug, thiserror::Error)]
pub enum ColdError {
    /// There is no mount namespace, without which copies would hide the originals from the whole machine.
    #[error("cannot create a mount namespace: {cause}\nhelp: {}", allow_mounts(cause))]
    Namespace {
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The folder for copies cannot be created or used.
    #[error("the cache folder `{}` cannot be used: {cause}\nhelp: export FIRSTBYTE_CACHE=DIR", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The folder for copies is on a file system whose files cannot be evicted.
    #[error(
        "the cache folder `{}` is on {file_system}, from which eviction cannot be proven\nhelp: name one on a disk: export FIRSTBYTE_CACHE=DIR",
        path.display()
    )]
    CacheIsNoDisk {
        /// The folder.
        path: PathBuf,
        /// The name of its file system.
        file_system: &'static str,
    },
    /// A file cannot be copied, or the copy cannot be mounted over it.
    #[error("`{}` could not be replaced by a copy: {cause}\nhelp: run as root, or name another cache folder with some space: export FIRSTBYTE_CACHE=DIR", path.display())]
    Copy {
        /// The original.
        path: PathBuf,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// No file of the program was seen.
    #[error(
        "the files that the program runs from were not seen, so nothing can be proven to be cold\nhelp: run as root, or give a command that executes a file"
    )]
    Nothing,
    /// The kernel did not drop the page cache.
    #[error("the page cache could not be dropped: {cause}\nhelp: run as root")]
    Drop {
        /// The kernel's answer.
        cause: io::Error,
    },
}

fn allow_mounts(cause: &io::Error) -> String {
    if cause.raw_os_error() == Some(libc::ENOSYS) {
        return "measure with a warm page cache: a seccomp filter, such as Android's, forbids mounts"
            .to_owned();
    }
    let by_option = Confinement::examine().of_mount().map(|hindrance| hindrance.help);
    by_option.unwrap_or_else(|| {
        "run as root, or allow it: sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0".to_owned()
    })
}
