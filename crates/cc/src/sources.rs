//! The runtime's files: those embedded in this crate, or those in a folder (`FIRSTBYTE_RUNTIME`, for work on the
//! runtime).

use super::error::RuntimeError;
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

static INCLUDE: Dir = include_dir!("$CARGO_MANIFEST_DIR/runtime/include");
static SRC: Dir = include_dir!("$CARGO_MANIFEST_DIR/runtime/src");
static ARCH: Dir = include_dir!("$CARGO_MANIFEST_DIR/runtime/arch");
/// The sample that solves level 0 of the post C Runtime Overhead, with its generator and its slow reference.
pub static LEVEL0: Dir = include_dir!("$CARGO_MANIFEST_DIR/runtime/samples/level0");
static LINKER_SCRIPT: &[u8] = include_bytes!("../runtime/firstbyte.ld");

/// The files of the runtime, with their paths within its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Sources {
    /// The files in the folder that `FIRSTBYTE_RUNTIME` names, or the embedded ones if it is not set.
    pub fn find() -> Result<Sources, RuntimeError> {
        match std::env::var_os("FIRSTBYTE_RUNTIME") {
            Some(folder) if !folder.is_empty() => Sources::of_folder(Path::new(&folder)),
            _ => Ok(Sources::embedded()),
        }
    }

    /// The files as they were when this crate was built.
    pub fn embedded() -> Sources {
        let mut files = BTreeMap::from([(PathBuf::from("firstbyte.ld"), LINKER_SCRIPT.to_vec())]);
        for (name, folder) in [("include", &INCLUDE), ("src", &SRC), ("arch", &ARCH)] {
            embedded_files(folder, Path::new(name), &mut files);
        }
        Sources { files }
    }

    /// The files in a folder with the layout of `runtime/`.
    pub fn of_folder(folder: &Path) -> Result<Sources, RuntimeError> {
        let mut files = BTreeMap::new();
        let mut pending: Vec<PathBuf> =
            ["include", "src", "arch", "firstbyte.ld"].map(PathBuf::from).to_vec();
        while let Some(relative) = pending.pop() {
            let path = folder.join(&relative);
            let error = |cause| RuntimeError::Folder { path: path.clone(), cause };
            if path.is_dir() {
                for entry in fs::read_dir(&path).map_err(error)? {
                    pending.push(relative.join(entry.map_err(error)?.file_name()));
                }
            } else {
                files.insert(relative, fs::read(&path).map_err(error)?);
            }
        }
        Ok(Sources { files })
    }

    /// Writes them into an empty folder.
    pub fn unpack(&self, folder: &Path) -> Result<(), RuntimeError> {
        for (relative, contents) in &self.files {
            let path = folder.join(relative);
            let error = |cause| RuntimeError::Folder { path: path.clone(), cause };
            fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(error)?;
            fs::write(&path, contents).map_err(error)?;
        }
        Ok(())
    }

    /// The C files, grouped by folder.
    pub fn units(&self) -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let mut units: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for path in self.files.keys().filter(|path| path.extension().is_some_and(|e| e == "c")) {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            units.entry(folder).or_default().push(path.clone());
        }
        units
    }

    /// Adds all names and contents to a digest.
    pub fn digest(&self, into: &mut Sha256) {
        for (path, contents) in &self.files {
            into.update(path.as_os_str().as_encoded_bytes());
            into.update((contents.len() as u64).to_le_bytes());
            into.update(contents);
        }
    }
}

fn embedded_files(folder: &Dir, prefix: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for file in folder.files() {
        into.insert(prefix.join(file.path()), file.contents().to_vec());
    }
    for inner in folder.dirs() {
        embedded_files(inner, prefix, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_runtime_is_the_one_in_the_folder() {
        let folder = Sources::of_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime")).unwrap();
        assert!(
            Sources::embedded() == folder,
            "the embedded runtime is older than runtime/: touch crates/cc/src/sources.rs"
        );
    }

    #[test]
    fn every_folder_of_sources_has_units() {
        for (folder, units) in Sources::embedded().units() {
            assert!(!units.is_empty(), "{}", folder.display());
        }
    }
}
