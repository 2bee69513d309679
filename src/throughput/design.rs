//! The ways to print lines that are compared: programs that take the number of lines as their last argument.

use crate::corpus::embedded::programs_of;
use crate::corpus::{Built, CorpusError, Program};
use include_dir::{Dir, include_dir};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

static PROGRAMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/throughput");

/// What the others are compared with: seed 002's fastest program, mended.
pub const BASELINE: &str = "asm-v2";

/// Our own writer.
pub const OURS: &str = "firstbyte lines";

/// `wc -l` reading the same lines from memory: what no producer before a `wc` can beat.
pub const WC_ALONE: &str = "(wc -l alone)";

/// One way to print lines.
#[derive(Clone, Debug)]
pub struct Design {
    /// Its name.
    pub name: String,
    /// What is special about it; of a literal program, its bug.
    pub description: String,
    /// As the seed printed it, bugs and all: never timed where its output is wrong.
    pub literal: bool,
    /// What starts it; the number of lines follows.
    pub argv: Vec<OsString>,
    /// The working directory of its runs.
    pub directory: PathBuf,
}

/// The embedded programs, sorted by name.
pub fn programs() -> Result<Vec<Program>, CorpusError> {
    programs_of(&PROGRAMS)
}

impl Design {
    /// A program of ours that has been built: its last argument, a number of lines, is replaced in each run.
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

    /// `firstbyte lines`, by the executable that is running.
    pub fn ours(firstbyte: &Path) -> Design {
        Design {
            name: OURS.to_owned(),
            description: "pages shared by reference into a pipe, writev elsewhere".to_owned(),
            literal: false,
            argv: vec![firstbyte.into(), "lines".into()],
            directory: PathBuf::from("/"),
        }
    }

    /// `wc -l` with a file of memory as its stdin.
    pub fn wc_alone() -> Design {
        Design {
            name: WC_ALONE.to_owned(),
            description: "`wc -l` reading the lines from a file on tmpfs".to_owned(),
            literal: false,
            argv: vec!["wc".into()],
            directory: PathBuf::from("/"),
        }
    }

    /// The seed's own text, twelve bytes with its newline.
    pub const TEXT: &'static str = "hello world";
}
