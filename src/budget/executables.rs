//! The executables of the machine that a command uses.

use crate::inspect::script;
use firstbyte_measure::launch::Command;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// A file that a command executes and that belongs to the machine: one that was found along PATH, or the interpreter of a
/// script. A program that the command names by its path is what is being developed, and changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executable {
    /// Without symbolic links.
    pub path: String,
    /// Of its content, in hexadecimal.
    pub sha256: String,
}

/// How many digits of a hash are shown.
const DIGITS: usize = 12;

impl fmt::Display for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits: String = self.sha256.chars().take(DIGITS).collect();
        write!(f, "{} (sha256 {digits})", self.path)
    }
}

/// A script may be interpreted by a script.
const LONGEST_CHAIN: usize = 5;
/// The beginning of a file in which the kernel looks for an interpreter.
const FIRST_LINE: u64 = 257;

/// The executables of the machine that this command uses, in the order in which they begin.
pub(super) fn executables(words: &[String]) -> Vec<Executable> {
    let (mut found, mut next) = (Vec::new(), words.first().cloned());
    while let Some(name) = next.take().filter(|_| found.len() < LONGEST_CHAIN) {
        let Ok(command) = Command::new(&[&name]) else { break };
        let Ok(path) = fs::canonicalize(command.program()) else { break };
        next = interpreter(&path);
        let is_own = found.is_empty() && words[0].contains('/');
        found.push((!is_own).then(|| executable(&path)).flatten());
    }
    found.into_iter().flatten().collect()
}

fn executable(path: &Path) -> Option<Executable> {
    let mut hash = Sha256::new();
    std::io::copy(&mut File::open(path).ok()?, &mut hash).ok()?;
    let sha256 = format!("{:x}", hash.finalize());
    Some(Executable { path: path.to_str()?.to_owned(), sha256 })
}

/// What executes a script: its interpreter, or the program that `env` looks for.
fn interpreter(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = script::first_line(&start)?;
    if line.interpreter.file_name().is_some_and(|name| name == "env") {
        let argument = line.argument?;
        return argument
            .split_whitespace()
            .find(|word| !word.starts_with('-') && !word.contains('='))
            .map(str::to_owned);
    }
    line.interpreter.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn words(command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn executables_of_the_machine_are_those_of_path_and_the_interpreters_of_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let shell = fs::canonicalize("/bin/sh").unwrap().to_str().unwrap().to_owned();
        for line in ["#!/bin/sh", "#!/usr/bin/env sh", "#!/usr/bin/env -S sh -e"] {
            fs::write(&script, format!("{line}\n")).unwrap();
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
            let found = executables(&[script.to_str().unwrap().to_owned()]);
            assert_eq!(found.iter().map(|e| &e.path).collect::<Vec<_>>(), [&shell], "{line}");
            assert_eq!(found[0].sha256.len(), 64);
        }
        assert_eq!(executables(&words("sh -c x"))[0].path, shell);
        assert_eq!(executables(&words("/bin/sh -c x")), [], "a program that is named by its path");
        assert_eq!(executables(&words("no-such-program")), []);
    }
}
