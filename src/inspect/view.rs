//! The part of the file system that inspecting needs.

use super::InspectError;
use serde::Serializer;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The longest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 2 << 30;

/// What stat(2) says about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    pub kind: FileKind,
    /// The device and the number of the file on it. Two paths with the same identity are one file.
    pub identity: (u64, u64),
    /// The permissions, with the bits for set-user-ID and set-group-ID.
    pub mode: u32,
    pub owner: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Regular,
    Folder,
    Other,
}

/// Files by path.
pub trait FileView {
    /// The bytes of a regular file.
    ///
    /// # Errors
    /// [`InspectError::Unreadable`], [`InspectError::NotAFile`] and [`InspectError::TooLarge`].
    fn read(&self, path: &Path) -> Result<Vec<u8>, InspectError>;

    /// `None` if nothing is there.
    fn facts(&self, path: &Path) -> Option<FileFacts>;

    /// The path without symbolic links, if something is there.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct MachineFiles;

impl FileView for MachineFiles {
    fn read(&self, path: &Path) -> Result<Vec<u8>, InspectError> {
        let shown = path.display().to_string();
        let unreadable = |cause| InspectError::Unreadable { path: shown.clone(), cause };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(InspectError::NotAFile { path: shown });
        }
        if metadata.len() > MAX_FILE_BYTES {
            return Err(InspectError::TooLarge { path: shown, size: metadata.len() });
        }
        std::fs::read(path).map_err(unreadable)
    }

    fn facts(&self, path: &Path) -> Option<FileFacts> {
        let metadata = std::fs::metadata(path).ok()?;
        let kind = match () {
            () if metadata.is_file() => FileKind::Regular,
            () if metadata.is_dir() => FileKind::Folder,
            () => FileKind::Other,
        };
        let identity = (metadata.dev(), metadata.ino());
        Some(FileFacts { kind, identity, mode: metadata.mode(), owner: metadata.uid() })
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}

/// Writes a path to a document. Bytes that are not UTF-8 are replaced, where serde would refuse the whole path.
pub(super) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// The same for an optional path.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(super) fn lossy_option<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => lossy(path, serializer),
        None => serializer.serialize_none(),
    }
}
