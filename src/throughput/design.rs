//! The ways to print lines: programs that take the number of lines as their last argument.

use crate::corpus::embedded::programs_of;
use crate::corpus::{Built, CorpusError, Program};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/throughput.packed"));

/// The design that the others are compared with: the fastest program of Response to Response, fixed.
pub const BASELINE: &str = "asm-v2";

/// Our own writer.
pub const OURS: &str = "firstbyte lines";

/// `wc -l` reading the same lines from memory. No program that pipes into `wc` can be faster.
pub const WC_ALONE: &str = "(wc -l alone)";

/// One way to print lines.
#[derive(Clone, Debug)]
pub struct Design {
    pub name: String,
    /// What is special about it, or the bug of a literal program.
    pub description: String,
    /// As published in the post, including its bugs.
    pub literal: bool,
    /// It is timed against its own bytes if it prints others than the lines that are asked for.
    pub may_differ: bool,
    /// The command that starts it. [`Design::COUNT`] stands for the number of lines.
    pub argv: Vec<OsString>,
    /// The working directory of its runs.
    pub directory: PathBuf,
}

/// The embedded programs, sorted by name.
pub fn programs() -> Result<Vec<Program>, CorpusError> {
    programs_of(PROGRAMS)
}

impl Design {
    /// What stands for the number of lines in a command.
    pub const COUNT: &'static str = "{n}";

    /// An embedded program that has been built. Its last argument is the number of lines.
    pub fn of_program(program: &Program, built: &Built) -> Design {
        let mut argv = built.argv.clone();
        argv.pop();
        argv.push(Design::COUNT.into());
        Design {
            name: program.name().to_owned(),
            description: program.manifest.description.clone(),
            literal: program.has_tag("literal"),
            may_differ: program.has_tag("literal"),
            argv,
            directory: built.directory.clone(),
        }
    }

    /// `firstbyte lines` of this executable.
    pub fn ours(firstbyte: &Path) -> Design {
        Design {
            name: OURS.to_owned(),
            description: "pages shared by reference with a pipe, writev to other targets".to_owned(),
            literal: false,
            may_differ: false,
            argv: vec![firstbyte.into(), "lines".into(), Design::COUNT.into()],
            directory: PathBuf::from("/"),
        }
    }

    /// A command of the user. Its words may contain [`Design::COUNT`].
    pub fn of_command(name: &str, words: Vec<String>, directory: &Path) -> Design {
        Design {
            name: name.to_owned(),
            description: words.join(" "),
            literal: false,
            may_differ: true,
            argv: words.into_iter().map(OsString::from).collect(),
            directory: directory.to_owned(),
        }
    }

    /// Its command for this number of lines.
    pub fn command(&self, count: u64) -> Vec<OsString> {
        let count = count.to_string();
        let word = |word: &OsString| match word.to_str() {
            Some(text) => text.replace(Design::COUNT, &count).into(),
            None => word.clone(),
        };
        self.argv.iter().map(word).collect()
    }

    /// `wc -l` with a file in memory as its stdin.
    pub fn wc_alone() -> Design {
        Design {
            name: WC_ALONE.to_owned(),
            description: "`wc -l` reading the lines from a file on tmpfs".to_owned(),
            literal: false,
            may_differ: false,
            argv: vec!["wc".into()],
            directory: PathBuf::from("/"),
        }
    }

    /// The text of one line: twelve bytes with its newline.
    pub const TEXT: &'static str = "hello world";
}
