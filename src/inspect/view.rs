//! The file system, as far as inspecting needs it.

use super::InspectError;
use serde::Serializer;
use std::path::{Path, PathBuf};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 2 << 30;

/// Files by their paths.
pub trait Files {
    /// A regular file's bytes.
    ///
    /// # Errors
    /// [`InspectError::Unreadable`], [`InspectError::NotAFile`] and [`InspectError::TooLarge`].
    fn read(&self, path: &Path) -> Result<Vec<u8>, InspectError>;

    /// Whether there is a regular file.
    fn is_file(&self, path: &Path) -> bool;
}

/// This machine's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineFiles;

impl Files for MachineFiles {
    fn read(&self, path: &Path) -> Result<Vec<u8>, InspectError> {
        let shown = path.display().to_string();
        let unreadable = |cause| InspectError::Unreadable { path: shown.clone(), cause };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(InspectError::NotAFile { path: shown });
        }
        if metadata.len() > LONGEST {
            return Err(InspectError::TooLarge { path: shown, size: metadata.len() });
        }
        std::fs::read(path).map_err(unreadable)
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }
}

/// A path in a document: what of it is no UTF-8 is replaced, where serde would refuse the whole.
pub(super) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// The same, where there may be none.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(super) fn lossy_option<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => lossy(path, serializer),
        None => serializer.serialize_none(),
    }
}
