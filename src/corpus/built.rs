//! A program that is ready to run.

use super::toolchain::FoundTool;
use firstbyte_measure::units::Bytes;
use std::ffi::OsString;
use std::path::PathBuf;

/// A program that has been built. Once it is verified, it does what its manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The program's name.
    pub program: String,
    /// The working directory of its runs.
    pub directory: PathBuf,
    pub argv: Vec<OsString>,
    /// The absolute path of the file passed to `execve`.
    pub executable: PathBuf,
    /// The file that the build made.
    pub artifact: PathBuf,
    pub artifact_size: Bytes,
    /// The tools that built it or run it.
    pub toolchain: Vec<FoundTool>,
    /// Whether it was found in the cache.
    pub cached: bool,
}
