//! What is wrong with a corpus: the reader of it is whoever wrote it.

use std::path::PathBuf;

const HELP: &str = "docs/adding-a-language.md describes the form of a program's folder";

/// A corpus that cannot be used. Each message ends in its `help:` line.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder of it cannot be read.
    #[error("cannot read `{}`: {cause}\nhelp: name a readable folder: --corpus DIR", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// Its folder holds no program at all.
    #[error("no program in `{}`: it has no subfolder with a `program.toml`\nhelp: {HELP}", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// A program's folder is larger than sources are.
    #[error("`{}` holds more than {limit} bytes of sources\nhelp: move what is no source out of it", path.display())]
    TooLarge {
        /// The program's folder.
        path: PathBuf,
        /// What is allowed, in bytes.
        limit: u64,
    },
    /// A manifest is no TOML, lacks a field, or has one that is not known.
    #[error("cannot use `{manifest}`: line {line}: {cause}\nhelp: {HELP}")]
    Syntax {
        /// The manifest.
        manifest: String,
        /// The line, from 1.
        line: usize,
        /// What the parser says.
        cause: String,
    },
    /// A manifest says something that cannot be.
    #[error("cannot use `{manifest}`: {cause}\nhelp: {HELP}")]
    Rule {
        /// The manifest.
        manifest: String,
        /// Which rule it breaks, and with what.
        cause: String,
    },
    /// Two programs have one name.
    #[error(
        "two programs are named `{name}`\nhelp: rename the folder of yours, and `name` in its program.toml"
    )]
    Twice {
        /// The name.
        name: String,
    },
    /// Nothing in the corpus is called so.
    #[error("no {kind} `{name}` in the corpus\nhelp: {}", suggestion(.nearest.as_deref()))]
    Unknown {
        /// `program` or `tag`.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What there is that is spelt most like it, if anything is.
        nearest: Option<String>,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("the nearest is `{nearest}`"),
        None => "`firstbyte showdown --list` shows them all".to_owned(),
    }
}
