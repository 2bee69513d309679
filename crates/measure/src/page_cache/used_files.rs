//! The files that a program uses.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The regular files that runs of a program opened, by absolute path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedFiles {
    /// Executed, mapped, or opened only for reading.
    pub read: BTreeSet<PathBuf>,
    /// Opened for reading and writing, or for appending: their earlier content matters.
    pub updated: BTreeSet<PathBuf>,
    /// Opened only for writing, or replaced by another file of the same name.
    pub written: BTreeSet<PathBuf>,
}

impl UsedFiles {
    /// The files that a run reads and never writes. On a copy of any other file a program would lose its own changes.
    pub(super) fn only_read(&self) -> impl Iterator<Item = &PathBuf> {
        self.read.iter().filter(|path| !self.updated.contains(*path) && !self.written.contains(*path))
    }

    /// The files that a run writes and may also read.
    pub(super) fn read_and_written(&self) -> BTreeSet<&PathBuf> {
        self.updated.iter().chain(self.read.intersection(&self.written)).collect()
    }

    /// Adds the files of another run.
    pub fn merge(&mut self, other: UsedFiles) {
        self.read.extend(other.read);
        self.updated.extend(other.updated);
        self.written.extend(other.written);
    }
}
