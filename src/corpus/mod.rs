//! The programs of the showdown: manifests, builds, verification.
//!
//! A program is a folder with its sources and a [`manifest`], `program.toml`. [`embedded`] contains our programs,
//! [`folder`] reads the user's. [`toolchain`] finds the tools that a manifest names. [`build`] builds the program in a
//! content-addressed [cache](firstbyte_cache), never in the user's tree. [`verify`] runs it once and compares its output
//! and exit status. [`prepare()`] does both for many programs. A program that this machine cannot build or run becomes a
//! [`SkippedProgram`], never an error.

pub mod build;
mod built;
mod builtin;
pub mod debian;
pub(crate) mod embedded;
mod entry;
mod error;
pub mod execute;
mod folder;
pub mod manifest;
mod placeholder;
mod prepare;
mod selection;
mod skipped;
pub mod tool;
pub mod toolchain;
pub mod verify;
mod versions;

pub use built::Built;
pub use entry::RunContext;
pub use error::CorpusError;
pub use firstbyte_cache::{BuildCache, CacheError};
pub use manifest::Manifest;
pub use prepare::{PrepareOptions, PrepareStep, prepare, prepare_all};
pub use selection::Selection;
pub use skipped::{SkipCause, SkippedProgram};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The name of their folder in the cache.
const KIND_OF_BUILDS: &str = "corpus";

/// The user's cache of built programs.
pub fn build_cache() -> Result<BuildCache, CacheError> {
    BuildCache::of_user(KIND_OF_BUILDS)
}

/// One source file of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative to the program's folder.
    pub path: PathBuf,
    pub contents: Vec<u8>,
}

/// One program: its manifest and its sources.
#[derive(Clone, Debug)]
pub struct Program {
    pub manifest: Manifest,
    /// Every file of its folder, sorted by path.
    pub sources: Vec<SourceFile>,
}

impl Program {
    /// The name of its folder, unique in a corpus.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    pub fn has_tag(&self, tag: &str) -> bool {
        self.manifest.tags.iter().any(|known| known == tag)
    }

    /// Whether its tools are checked and installed without being asked for.
    pub fn is_core(&self) -> bool {
        self.manifest.group.is_none()
    }
}

/// All programs: the embedded ones, then the user's.
#[derive(Clone, Debug)]
pub struct Corpus {
    programs: Vec<Program>,
    /// The user's subfolders that contain no program.
    others: Vec<SkippedProgram>,
}

impl Corpus {
    /// Loads the embedded programs, and those in the subfolders of `extra`.
    pub fn load(extra: Option<&Path>) -> Result<Corpus, CorpusError> {
        let (mut programs, mut others) = (embedded::programs()?, Vec::new());
        if let Some(folder) = extra {
            let (users, none) = folder::programs(folder)?;
            programs.extend(users);
            others = none;
        }
        let mut seen = BTreeSet::new();
        for program in &programs {
            if !seen.insert(program.name()) {
                return Err(CorpusError::Twice { name: program.name().to_owned() });
            }
        }
        Ok(Corpus { programs, others })
    }

    /// Every program, including the optional ones.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    pub fn find(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name() == name)
    }

    /// The Debian packages that the programs without a group need, sorted, each once.
    pub fn packages(&self) -> Vec<String> {
        let core = self.programs.iter().filter(|program| program.is_core());
        let all: BTreeSet<String> = core.flat_map(|p| p.manifest.packages()).collect();
        all.into_iter().collect()
    }
}
