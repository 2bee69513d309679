//! hello world in the smallest executable that starts fastest: the floor of all programs.

use firstbyte_elf::{Architecture, plain};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// It has no name in any folder, so nothing is left behind whenever firstbyte is killed. `None` if firstbyte cannot write
/// executables for the processor.
pub fn in_memory() -> Option<File> {
    let mut file = File::from(memfd_create("firstbyte-smallest", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(&image()?).ok()?;
    Some(file)
}

/// The same in a folder.
pub fn in_folder(folder: &Path) -> Option<PathBuf> {
    let path = folder.join("plain");
    fs::write(&path, image()?).ok()?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).ok()?;
    Some(path)
}

fn image() -> Option<Vec<u8>> {
    plain::image(Architecture::host()?, b"hello world\n", Some(0)).ok()
}
