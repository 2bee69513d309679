//! The programs of the showdown: manifests, builds, verification.
//!
//! A program is a folder with its sources and a [`manifest`], `program.toml`; [`embedded`] holds ours, [`folder`]
//! reads the user's. [`toolchain`] finds the tools that a manifest names, [`build`] makes the program in a
//! content-addressed [cache](firstbyte_cache) and never in the user's tree, [`verify`] runs it once and compares what it printed
//! and how it ended. What cannot be had on a machine becomes a [`Skipped`], never an error.

pub mod build;
mod builtin;
pub mod debian;
pub(crate) mod embedded;
mod error;
pub mod execute;
mod folder;
pub mod manifest;
mod placeholder;
mod skipped;
pub mod toolchain;
pub mod verify;

pub use build::{Built, Progress, prepare_all};
pub use error::CorpusError;
pub use firstbyte_cache::Cache;
pub use manifest::Manifest;
pub use skipped::{SkipCause, Skipped};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One file of a program's sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, relative to the program's folder.
    pub path: PathBuf,
    /// What it holds.
    pub contents: Vec<u8>,
}

/// One program: what its manifest says, and its sources.
#[derive(Clone, Debug)]
pub struct Program {
    /// What `program.toml` says.
    pub manifest: Manifest,
    /// Every file of its folder, sorted by path.
    pub sources: Vec<SourceFile>,
}

impl Program {
    /// Its name, unique in a corpus: the name of its folder.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Whether it carries this tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.manifest.tags.iter().any(|own| own == tag)
    }
}

/// All programs: the embedded ones, then the user's.
#[derive(Clone, Debug)]
pub struct Corpus {
    programs: Vec<Program>,
    /// Subfolders of the user's that hold no program.
    others: Vec<Skipped>,
}

impl Corpus {
    /// The embedded programs, and those in the subfolders of `extra`.
    pub fn load(extra: Option<&Path>) -> Result<Corpus, CorpusError> {
        let (mut programs, mut others) = (embedded::programs()?, Vec::new());
        if let Some(folder) = extra {
            let (own, none) = folder::programs(folder)?;
            programs.extend(own);
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

    /// Every program, the optional ones included.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// The program of this name.
    pub fn find(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name() == name)
    }

    /// The programs that were asked for by name or by tag, each once and in the corpus' order; if none was asked
    /// for, all but the optional ones.
    pub fn select(&self, names: &[String], tags: &[String]) -> Result<Vec<&Program>, CorpusError> {
        let others = self.others.iter().map(|skipped| skipped.name.as_str());
        known("program", names, self.programs.iter().map(Program::name).chain(others))?;
        known("tag", tags, self.programs.iter().flat_map(|p| p.manifest.tags.iter().map(String::as_str)))?;
        let asked = |program: &&Program| {
            names.iter().any(|name| name == program.name()) || tags.iter().any(|tag| program.has_tag(tag))
        };
        let all = names.is_empty() && tags.is_empty();
        Ok(self.programs.iter().filter(|p| if all { !p.manifest.optional } else { asked(p) }).collect())
    }

    /// Of what was asked for, the subfolders of the user's that hold no program.
    pub fn not_programs(&self, names: &[String], tags: &[String]) -> impl Iterator<Item = &Skipped> {
        let all = names.is_empty() && tags.is_empty();
        self.others.iter().filter(move |skipped| all || names.contains(&skipped.name))
    }

    /// The Debian packages that bring all of it: the one list of them. Sorted, each once.
    pub fn packages(&self) -> Vec<String> {
        let all: BTreeSet<String> = self.programs.iter().flat_map(|p| p.manifest.packages()).collect();
        all.into_iter().collect()
    }
}

/// That everything asked for is there.
fn known<'a>(
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

/// What a misspelt name was meant to be: what the fewest edits make of it, if those are few for its length.
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
    fn a_misspelt_name_is_taken_for_the_nearest_and_a_strange_one_for_none() {
        let nearest = |name| nearest(name, ["c-printf", "c-printf-real", "go", "node", "zsh"].into_iter());
        assert_eq!(nearest("c-prinft").as_deref(), Some("c-printf"));
        assert_eq!(nearest("nodejs").as_deref(), Some("node"));
        assert_eq!(nearest("og").as_deref(), Some("go"));
        assert_eq!((nearest(""), nearest("cobol"), nearest("x")), (None, None, None));
    }

    #[test]
    fn the_message_of_an_unknown_name_helps_either_way() {
        let corpus = Corpus::load(None).unwrap();
        let message = |name: &str| corpus.select(&[name.to_owned()], &[]).unwrap_err().to_string();
        assert!(message("c-prinft").ends_with("help: the nearest is `c-printf`"), "{}", message("c-prinft"));
        assert!(message("").ends_with("help: `firstbyte showdown --list` shows them all"), "{}", message(""));
    }
}
