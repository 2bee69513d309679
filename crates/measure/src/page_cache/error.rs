//! Why runs cannot be cold.

use std::io;
use std::path::PathBuf;

/// Why there are no cold runs.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says it
pub enum ColdError {
    #[error(
        "no mount namespace of our own could be had: {cause}\nhelp: run as root, or allow it: sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0"
    )]
    Namespace { cause: io::Error },
    #[error("the cache folder `{}` cannot be used: {cause}\nhelp: export FIRSTBYTE_CACHE=DIR", path.display())]
    Folder { path: PathBuf, cause: io::Error },
    #[error(
        "the cache folder `{}` is on {file_system}, from which nothing can be evicted for sure\nhelp: name one on a disk: export FIRSTBYTE_CACHE=DIR",
        path.display()
    )]
    CacheIsNoDisk { path: PathBuf, file_system: &'static str },
    #[error("`{}` could not be replaced by a copy: {cause}\nhelp: free some space in the cache folder, or run as root", path.display())]
    Copy { path: PathBuf, cause: io::Error },
    #[error(
        "no file was seen that the program runs from, so nothing can be proven to be cold\nhelp: run as root, or give a command that executes a file"
    )]
    Nothing,
    #[error("the page cache could not be dropped: {cause}\nhelp: run as root")]
    Drop { cause: io::Error },
}
