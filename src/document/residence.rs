//! Which of a program's files were in memory before a run.

use serde::{Deserialize, Serialize};

/// What a file is for the program that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// The script that is named by the command.
    Script,
    /// What its first line names.
    Interpreter,
    /// The program itself.
    Executable,
    /// The dynamic loader.
    Loader,
    /// The C library.
    Libc,
    /// All others together.
    Others,
}

impl FileRole {
    pub fn name(self) -> &'static str {
        match self {
            FileRole::Script => "script",
            FileRole::Interpreter => "interpreter",
            FileRole::Executable => "executable",
            FileRole::Loader => "loader",
            FileRole::Libc => "libc",
            FileRole::Others => "others",
        }
    }
}

/// The part of one file, or of several together, that was in the page cache when a run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResidentPart {
    pub role: FileRole,
    /// `null` for several files.
    #[serde(default)]
    pub file: Option<String>,
    pub files: u64,
    /// The size of the files, in pages.
    pub pages: u64,
    /// How many of the pages were in memory.
    pub resident: u64,
}
