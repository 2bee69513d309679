//! What is kept of command lines, which may contain secrets.

use firstbyte_measure::tracer::watch::StartedProgram;
use std::hash::{BuildHasher, RandomState};

/// What is kept of command lines.
#[derive(Clone, Debug, Default)]
pub enum CommandLines {
    /// All of them.
    #[default]
    Whole,
    /// The program and a hash of the arguments: equal ones can be counted together. Without the key, which is drawn for each
    /// watch and not kept, the arguments cannot be found by trying.
    Hashed(RandomState),
    /// Nothing, which also takes no memory.
    LeftOut,
}

impl CommandLines {
    pub fn hashed() -> CommandLines {
        CommandLines::Hashed(RandomState::new())
    }

    /// What is kept of an execution.
    pub(super) fn of(&self, started: &StartedProgram) -> Option<String> {
        match self {
            CommandLines::Whole => Some(whole(started)),
            CommandLines::Hashed(key) => Some(hashed(&started.path, key, &started.argv)),
            CommandLines::LeftOut => None,
        }
    }

    /// What is kept of the command that is watched.
    pub(super) fn of_command(&self, words: &[String]) -> String {
        let program = words.first().map(String::as_str).unwrap_or_default();
        match self {
            CommandLines::Whole => shell_words::join(words),
            CommandLines::Hashed(key) => hashed(program, key, words),
            CommandLines::LeftOut => shell_words::quote(program).into_owned(),
        }
    }
}

/// As a shell would take it.
fn whole(started: &StartedProgram) -> String {
    if started.argv.is_empty() {
        return started.path.clone();
    }
    let kept: usize = started.argv.iter().map(|word| word.len() + 1).sum();
    let cut = if (kept as u64) < u64::from(started.argv_bytes) { " …" } else { "" };
    shell_words::join(&started.argv) + cut
}

/// A shell takes the hash for a comment.
fn hashed(program: &str, key: &RandomState, words: &[String]) -> String {
    format!("{} #{:016x}", shell_words::quote(program), key.hash_one(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_arguments_have_equal_hashes_and_nothing_of_them_remains() {
        let words = ["curl", "-u", "me:secret"].map(str::to_owned);
        let kept = CommandLines::hashed();
        assert_eq!(kept.of_command(&words), kept.of_command(&words));
        assert_ne!(kept.of_command(&words), kept.of_command(&words[..2]));
        assert_ne!(
            kept.of_command(&words),
            CommandLines::hashed().of_command(&words),
            "each watch has its key"
        );
        let text = kept.of_command(&words);
        assert!(text.starts_with("curl #") && text.len() == "curl #".len() + 16, "{text}");
        assert_eq!(CommandLines::LeftOut.of_command(&words), "curl");
        assert_eq!(CommandLines::Whole.of_command(&words), "curl -u me:secret");
    }
}
