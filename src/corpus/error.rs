//! What is wrong with a corpus, for its author.

use std::path::PathBuf;

const HELP: &str = "docs/adding-a-language.md describes a program's folder";

/// Why a corpus cannot be used. Each message ends with a `help:` line.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder cannot be read.
    #[error("cannot read `{}`: {cause}\nhelp: name a readable folder: --corpus DIR", path.display())]
    Unreadable { path: PathBuf, cause: std::io::Error },
    /// The folder contains no program.
    #[error("`{}` contains no program: no subfolder has a `program.toml`\nhelp: {HELP}", path.display())]
    Empty { path: PathBuf },
    /// A program's folder is too large for sources.
    #[error("`{}` contains more than {limit} bytes\nhelp: move everything that is not a source file out of it", path.display())]
    TooLarge {
        path: PathBuf,
        /// In bytes.
        limit: u64,
    },
    /// A manifest is not TOML, lacks a field, or has an unknown one.
    #[error("cannot use `{manifest}`: line {line}: {cause}\nhelp: {HELP}")]
    Syntax {
        manifest: String,
        /// From 1.
        line: usize,
        /// The parser's message.
        cause: String,
    },
    #[error("cannot use `{manifest}`: {cause}\nhelp: {HELP}")]
    Rule {
        manifest: String,
        /// The rule, and the value that breaks it.
        cause: String,
    },
    /// Two programs have the same name.
    #[error(
        "two programs are named `{name}`\nhelp: rename the folder of yours, and `name` in its program.toml"
    )]
    Twice { name: String },
    #[error("the corpus contains no group `{name}`\nhelp: its groups are {groups}")]
    NoGroup { name: String, groups: String },
    /// No wanted program has several versions.
    #[error(
        "none of these programs says where versions of its interpreter are\nhelp: firstbyte showdown --versions --only {known}"
    )]
    NoVersions {
        /// The programs that do.
        known: String,
    },
    /// The corpus contains nothing of this name.
    #[error("the corpus contains no {kind} `{name}`\nhelp: {}", suggestion(.nearest.as_deref()))]
    Unknown {
        /// `program`, `tag` or `language`.
        kind: &'static str,
        name: String,
        /// An existing name with a similar spelling.
        nearest: Option<String>,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`firstbyte showdown --list --all` shows all of them".to_owned(),
    }
}
