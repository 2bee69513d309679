//! The programs that are measured.

use firstbyte_elf::{Architecture, plain};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn static_elf(folder: &Path) -> PathBuf {
    let path = folder.join("static-elf");
    let host = Architecture::host().expect("an architecture that we write for");
    std::fs::write(&path, plain::image(host, b"hello world\n", Some(0)).expect("an image")).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}

pub(crate) fn c_printf(folder: &Path) -> PathBuf {
    compiled("corpus/c-printf/hello.c", &[], &folder.join("c-printf"))
}

/// Spins for a number of nanoseconds, and prints a line.
pub(crate) fn spin(folder: &Path) -> PathBuf {
    compiled("benches/verdicts/spin.c", &["-O2"], &folder.join("spin"))
}

fn compiled(source: &str, options: &[&str], path: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let compiled = Command::new("cc").arg(source).args(options).arg("-o").arg(path).status();
    assert!(compiled.expect("cc is installed").success(), "cc failed");
    path.to_owned()
}
