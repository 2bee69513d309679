//! A variant that makes sense for a start, and what it changes. Pure.

use super::catalogue::{FOLDER, Variant};
use super::start::Start;
use super::way::{Edit, Way};
use crate::analysis::findings::Finding;
use firstbyte_measure::units::Nanos;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// The variant that starts the end of a chain of execs.
pub(super) const DIRECT: &str = "direct";

/// A variant for one start.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name, with the variable or the module that it is about.
    pub name: String,
    pub runtime: String,
    /// It is for any program.
    pub(super) is_general: bool,
    pub variant: Variant,
    /// What is different, a clause.
    pub text: String,
    /// The changes, with [`FOLDER`] for its folder.
    pub edits: Vec<Edit>,
    /// Those of the run that is made before, if there is one.
    pub first: Option<Vec<Edit>>,
    /// The rule whose finding suggests it, and what that costs.
    pub finding: Option<(&'static str, Nanos)>,
    /// The start-up files of the user that are copied to its folder.
    pub copies: Vec<StartFile>,
    /// The command that is executed in its folder once; empty: none.
    pub make: Vec<String>,
    /// It works on the program at the end of a chain: it is compared with [`DIRECT`], and uses it.
    pub behind_chain: bool,
}

/// A start-up file of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartFile {
    pub path: PathBuf,
    /// The line that is left out, from 1.
    pub without: Option<usize>,
}

impl StartFile {
    /// Its content. A line that is left out becomes a comment, so that all others keep their numbers.
    pub fn content(&self) -> std::io::Result<Vec<u8>> {
        let content = std::fs::read(&self.path)?;
        let Some(without) = self.without else { return Ok(content) };
        let lines = content.split_inclusive(|byte| *byte == b'\n').enumerate();
        let mark = |place: usize| if place + 1 == without { &b"#"[..] } else { &[] };
        Ok(lines.flat_map(|(place, line)| [mark(place), line].concat()).collect())
    }
}

impl Candidate {
    /// Those of the findings that cost most come first, then those that remove something, then those of the runtime, and those
    /// that change what the program does come last.
    pub(super) fn rank(&self) -> (bool, Reverse<Nanos>, u8) {
        let removes = |edit: &Edit| edit.is_direct() || matches!(edit, Edit::Unset(_));
        let kind = match self.edits.first() {
            Some(edit) if removes(edit) => 0,
            _ => 1 + u8::from(self.is_general),
        };
        (self.variant.behaviour, Reverse(self.finding.map_or(Nanos(0), |(_, cost)| cost)), kind)
    }

    /// The name of what it is about, behind that of its variant.
    pub(super) fn about(&self) -> &str {
        self.name.strip_prefix(self.variant.name()).unwrap_or_default().trim_start_matches('-')
    }

    pub(super) fn is_suggested_by(&self, finding: &Finding) -> bool {
        let is_named = self.about().is_empty() || finding.text.contains(self.about());
        let mut files = self.variant.files_of_findings.iter();
        let has_file = files.len() == 0 || files.any(|file| finding.text.contains(file.as_str()));
        is_named && has_file && self.variant.findings.iter().any(|rule| rule == finding.rule)
    }

    /// Whether a name of `--only` or `--skip` means it.
    pub fn is_named(&self, name: &str) -> bool {
        name == self.name || name == self.variant.name()
    }

    /// The candidate that it is compared with and uses; `None`: the plain command.
    pub fn base(&self) -> Option<&'static str> {
        self.behind_chain.then_some(DIRECT)
    }

    /// It cannot be used together with another one.
    pub fn conflicts(&self, other: &Candidate) -> bool {
        let same_group = self.variant.group.is_some() && self.variant.group == other.variant.group;
        let is_own = |edit: &&Edit| **edit != Edit::Direct;
        same_group
            || self
                .edits
                .iter()
                .filter(is_own)
                .any(|edit| other.edits.iter().any(|other| edit.conflicts(other)))
    }

    /// The way to start the program, with its folder.
    pub fn way(&self, start: &Start, folder: &Path) -> Way {
        together(&[self], start, folder)
    }

    /// The command that fills its folder.
    pub fn make(&self, folder: &Path) -> Vec<String> {
        let own = folder.join(&self.name).to_string_lossy().into_owned();
        self.make.iter().map(|word| word.replace(FOLDER, &own)).collect()
    }

    /// The way of the run before.
    pub fn first_way(&self, start: &Start, folder: &Path) -> Option<Way> {
        let edits = self.first.as_ref()?;
        Some(Way::of(
            start,
            &edits.iter().map(|edit| placed(edit, &folder.join(&self.name))).collect::<Vec<_>>(),
        ))
    }
}

/// The way with all of these. `folder`: where each has its own.
pub fn together(candidates: &[&Candidate], start: &Start, folder: &Path) -> Way {
    let edits = candidates.iter().flat_map(|candidate| {
        let own = folder.join(&candidate.name);
        candidate.edits.iter().map(move |edit| placed(edit, &own))
    });
    let mut all: Vec<Edit> = Vec::new();
    for edit in edits {
        if edit != Edit::Direct || !all.contains(&edit) {
            all.push(edit);
        }
    }
    Way::of(start, &all)
}

/// An edit with the variant's folder in its words.
fn placed(edit: &Edit, folder: &Path) -> Edit {
    let in_folder = |text: &String| text.replace(FOLDER, &folder.to_string_lossy());
    let all = |words: &Vec<String>| words.iter().map(in_folder).collect();
    match edit {
        Edit::Direct | Edit::DirectPlain | Edit::DirectChild | Edit::Unset(_) => edit.clone(),
        Edit::Set(name, value) => Edit::Set(name.clone(), in_folder(value)),
        Edit::Options(words) => Edit::Options(all(words)),
        Edit::Program(words) => Edit::Program(all(words)),
        Edit::Before(words) => Edit::Before(all(words)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_left_out_becomes_a_comment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".zshrc");
        std::fs::write(&path, "one\ntwo\nthree").unwrap();
        let content = |without| StartFile { path: path.clone(), without }.content().unwrap();
        assert_eq!(content(Some(2)), b"one\n#two\nthree");
        assert_eq!((content(None), content(Some(9))), (b"one\ntwo\nthree".into(), b"one\ntwo\nthree".into()));
    }
}
