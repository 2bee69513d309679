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
mod skipped;
pub mod toolchain;
pub mod verify;

pub use built::Built;
pub use entry::RunContext;
pub use error::CorpusError;
pub use firstbyte_cache::{BuildCache, CacheError};
pub use manifest::Manifest;
pub use prepare::{PrepareOptions, PrepareStep, prepare, prepare_all};
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

    /// The programs with these names or tags, each once and in the order of the corpus. Without names and tags: all
    /// but the optional ones.
    pub fn select(&self, names: &[String], tags: &[String]) -> Result<Vec<&Program>, CorpusError> {
        let others = self.others.iter().map(|skipped| skipped.name.as_str());
        check_known("program", names, self.programs.iter().map(Program::name).chain(others))?;
        check_known(
            "tag",
            tags,
            self.programs.iter().flat_map(|p| p.manifest.tags.iter().map(String::as_str)),
        )?;

        let asked = |program: &&Program| {
            names.iter().any(|name| name == program.name()) || tags.iter().any(|tag| program.has_tag(tag))
        };
        let all = names.is_empty() && tags.is_empty();
        Ok(self.programs.iter().filter(|p| if all { !p.manifest.optional } else { asked(p) }).collect())
    }

    /// The selected subfolders that contain no program.
    pub fn not_programs(&self, names: &[String], tags: &[String]) -> impl Iterator<Item = &SkippedProgram> {
        let all = names.is_empty() && tags.is_empty();
        self.others.iter().filter(move |skipped| all || names.contains(&skipped.name))
    }

    /// The Debian packages that all programs need, sorted, each once.
    pub fn packages(&self) -> Vec<String> {
        let all: BTreeSet<String> = self.programs.iter().flat_map(|p| p.manifest.packages()).collect();
        all.into_iter().collect()
    }
}

/// Checks that every given name is known.
fn check_known<'a>(
    kind: &'static str,
    asked: &[String],
    there: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), CorpusError> {
    for name in asked {
        if !there.clone().any(|known| known == name) {
            let nearest = nearest(name, there);
            return Err(CorpusError::Unknown { kind, name: name.clone(), nearest });
        }
    }
    Ok(())
}

/// The known name that needs the fewest edits, if they are few for the name's length.
fn nearest<'a>(name: &str, there: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |known: &str| strsim::damerau_levenshtein(known, name);
    let nearest = there.min_by_key(|known| distance(known))?;
    let most = (name.chars().count() / 3).max(1);
    (distance(nearest) <= most && !name.is_empty()).then(|| nearest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_has_a_nearest_name_and_a_strange_one_has_none() {
        let nearest = |name| nearest(name, ["c-printf", "c-printf-real", "go", "node", "zsh"].into_iter());
        assert_eq!(nearest("c-prinft").as_deref(), Some("c-printf"));
        assert_eq!(nearest("nodejs").as_deref(), Some("node"));
        assert_eq!(nearest("og").as_deref(), Some("go"));
        assert_eq!((nearest(""), nearest("cobol"), nearest("x")), (None, None, None));
    }

    #[test]
    fn the_error_for_an_unknown_name_always_helps() {
        let corpus = Corpus::load(None).unwrap();
        let message = |name: &str| corpus.select(&[name.to_owned()], &[]).unwrap_err().to_string();
        assert!(message("c-prinft").ends_with("help: did you mean `c-printf`?"), "{}", message("c-prinft"));
        assert!(
            message("").ends_with("help: `firstbyte showdown --list` shows all of them"),
            "{}",
            message("")
        );
    }
}
