//! What can go wrong before the compiler runs. Each message ends in its `help:` line.

use firstbyte_cache::CacheError;
use firstbyte_elf::Architecture;
use std::io;
use std::path::PathBuf;

/// Why a compilation did not begin.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The architecture's name is not one of ours.
    #[error(
        "unknown architecture `{0}` for `--target`\nhelp: --target x86-64, --target i386, --target aarch64 or --target riscv64"
    )]
    UnknownTarget(String),
    /// An option of ours stands without its value.
    #[error("`{0}` needs a value\nhelp: {0} aarch64")]
    MissingValue(String),
    /// We run on an architecture that the runtime does not know, and no other was asked for.
    #[error("the runtime does not know this machine's architecture\nhelp: firstbyte cc --target x86-64 …")]
    UnknownHost,
    /// No compiler for it.
    #[error(
        "no C compiler for {architecture}: tried `{}`\nhelp: apt-get install {package}, or export FIRSTBYTE_CC=COMPILER",
        tried.join("`, `")
    )]
    NoCompiler {
        /// What was to be compiled for.
        architecture: Architecture,
        /// The commands that are not there or do not compile.
        tried: Vec<String>,
        /// Debian's package of the first.
        package: &'static str,
    },
    /// `FIRSTBYTE_CC` cannot be used.
    #[error(
        "`FIRSTBYTE_CC={command}` does not compile for {architecture}\nhelp: unset FIRSTBYTE_CC, or name a compiler for {architecture}"
    )]
    ChosenCompiler {
        /// Its value.
        command: String,
        /// What was to be compiled for.
        architecture: Architecture,
    },
    /// An option asks for what a static program of this runtime cannot be.
    #[error("`{option}` cannot be had: {reason}\nhelp: leave `{option}` out")]
    Refused {
        /// The option.
        option: String,
        /// Why.
        reason: &'static str,
    },
    /// There is no cache, where the built runtime should be kept.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The cache folder cannot be written, or a runtime in a folder not be read.
    #[error("cannot use `{}`: {cause}\nhelp: export FIRSTBYTE_CACHE=DIR", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A command could not be started.
    #[error("cannot run `{command}`: {cause}\nhelp: export FIRSTBYTE_CC=COMPILER")]
    Start {
        /// Its name.
        command: String,
        /// Why.
        cause: io::Error,
    },
    /// The compiler refused the runtime itself.
    #[error("`{compiler}` cannot compile the runtime:\n{messages}\nhelp: export FIRSTBYTE_CC=COMPILER")]
    Build {
        /// The command.
        compiler: String,
        /// What it said.
        messages: String,
    },
}
