//! The ways to print lines: programs that take the number of lines as their last argument.

use crate::corpus::embedded::programs_of;
use crate::corpus::{Built, CorpusError, Program};
use include_dir::{Dir, include_dir};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

static PROGRAMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/throughput");

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
    /// As published in the post, including its bugs. Never timed if its output is wrong.
    pub literal: bool,
    /// The command that starts it, without the number of lines.
    pub argv: Vec<OsString>,
    /// The working directory of its runs.
    pub directory: PathBuf,
}

/// The embedded programs, sorted by name.
pub fn programs() -> Result<Vec<Program>, CorpusError> {
    programs_of(&PROGRAMS)
}

impl Design {
    /// An embedded program that has been built. Its last argument, the number of lines, is replaced in each run.
    pub fn of_program(program: &Program, built: &Built) -> Design {
        let mut argv = built.argv.clone();
        argv.pop();
        Design {
            name: program.name().to_owned(),
            description: program.manifest.description.clone(),
            literal: program.has_tag("literal"),
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
            argv: vec![firstbyte.into(), "lines".into()],
            directory: PathBuf::from("/"),
        }
    }

    /// `wc -l` with a file in memory as its stdin.
    pub fn wc_alone() -> Design {
        Design {
            name: WC_ALONE.to_owned(),
            description: "`wc -l` reading the lines from a file on tmpfs".to_owned(),
            literal: false,
            argv: vec!["wc".into()],
            directory: PathBuf::from("/"),
        }
    }

    /// The text of one line: twelve bytes with its newline.
    pub const TEXT: &'static str = "hello world";
}
