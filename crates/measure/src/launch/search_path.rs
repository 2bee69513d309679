//! Looks for a tool along `PATH`.

use rustix::fs::{Access, access};
use std::path::PathBuf;

/// The first executable of this name in `PATH`. Relative folders in `PATH` are skipped: the tool may be started in
/// another working directory.
pub fn find_in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}
