//! What a start depends on besides the file: other files, environment variables, and whoever starts it.

use super::view::{FileFacts, FileKind, FileView};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of a machine, and the environment that a program is started with.
pub struct Surroundings<'a> {
    pub files: &'a dyn FileView,
    pub environment: Environment,
    /// The user who starts the program.
    pub user: u32,
}

impl Surroundings<'_> {
    /// Whether this is a file that may be executed.
    pub(super) fn is_executable(&self, path: &Path) -> bool {
        self.files.facts(path).is_some_and(|facts| facts.kind == FileKind::Regular && facts.mode & 0o111 != 0)
    }

    /// The program with this name in a folder of PATH, and how many folders do not have it.
    pub fn in_path(&self, name: &str) -> (Option<PathBuf>, u64) {
        let mut failed = 0;
        for folder in self.environment.get("PATH").unwrap_or(DEFAULT_PATH).split(':') {
            // an empty name means the current folder
            let candidate = Path::new(if folder.is_empty() { "." } else { folder }).join(name);
            if self.is_executable(&candidate) {
                return (Some(candidate), failed);
            }
            failed += 1;
        }
        (None, failed)
    }

    /// Whether the kernel gives the program rights that its user does not have. Then the loader ignores most variables.
    pub(super) fn is_privileged(&self, path: &Path) -> bool {
        let gives = |FileFacts { mode, owner, .. }| {
            let set_user = mode & 0o4000 != 0 && owner != self.user;
            set_user || (mode & 0o2010 == 0o2010 && self.user != 0)
        };
        self.files.facts(path).is_some_and(gives)
    }
}

/// What execvp(3) of glibc searches if PATH is not set (`_CS_PATH`).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Environment variables. Those that are not UTF-8 are left out: no loader reads them.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// That of this process.
    pub fn of_this_process() -> Environment {
        let readable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Environment(std::env::vars_os().filter_map(readable).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether a variable has a value other than the empty one.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_empty())
    }

    /// How many variables there are, and how many bytes their texts take.
    pub(super) fn size(&self) -> (u64, u64) {
        let bytes = self.0.iter().map(|(name, value)| name.len() as u64 + value.len() as u64 + 2);
        (self.0.len() as u64, bytes.sum())
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Environment {
        self.0.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub(super) fn without(mut self, name: &str) -> Environment {
        self.0.remove(name);
        self
    }
}
