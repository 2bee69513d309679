//! Errors before the compiler runs. Each message ends with its `help:` line.

use firstbyte_cache::CacheError;
use firstbyte_elf::Architecture;
use std::io;
use std::path::PathBuf;

/// Why a compilation did not start.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// `--target` names an architecture that the runtime does not support.
    #[error(
        "unknown architecture `{0}` for `--target`\nhelp: --target x86-64, --target i386, --target aarch64 or --target riscv64"
    )]
    UnknownTarget(String),
    /// An option has no value.
    #[error("`{0}` needs a value\nhelp: {0} aarch64")]
    MissingValue(String),
    /// The runtime does not support this machine's architecture, and `--target` names no other.
    #[error("the runtime does not support this machine's architecture\nhelp: firstbyte cc --target x86-64 …")]
    UnknownHost,
    /// There is no compiler for the architecture.
    #[error(
        "no C compiler for {architecture} was found: tried `{}`\nhelp: apt-get install {package}, or export FIRSTBYTE_CC=COMPILER",
        tried.join("`, `")
    )]
    NoCompiler {
        /// The requested architecture.
        architecture: Architecture,
        /// The commands that do not exist or do not compile for the architecture.
        tried: Vec<String>,
        /// The Debian package of the first command.
        package: &'static str,
    },
    /// `FIRSTBYTE_CC` cannot be used.
    #[error(
        "`FIRSTBYTE_CC={command}` does not compile for {architecture}\nhelp: unset FIRSTBYTE_CC, or name a compiler for {architecture}"
    )]
    ChosenCompiler {
        /// The value of the variable.
        command: String,
        /// The requested architecture.
        architecture: Architecture,
    },
    /// An option requests something that a static program of this runtime cannot support.
    #[error("`{option}` is not supported: {reason}\nhelp: leave `{option}` out")]
    Refused {
        /// The option.
        option: String,
        /// The cause.
        reason: &'static str,
    },
    /// There is no cache for the built runtime.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The cache folder cannot be written, or the runtime in a folder cannot be read.
    #[error("cannot use `{}`: {cause}\nhelp: export FIRSTBYTE_CACHE=DIR", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// A command could not be started.
    #[error("cannot run `{command}`: {cause}\nhelp: export FIRSTBYTE_CC=COMPILER")]
    Start {
        /// The command.
        command: String,
        /// The cause.
        cause: io::Error,
    },
    /// The compiler cannot compile the runtime.
    #[error("`{compiler}` cannot compile the runtime:\n{messages}\nhelp: export FIRSTBYTE_CC=COMPILER")]
    Build {
        /// The command.
        compiler: String,
        /// The compiler's messages.
        messages: String,
    },
}
