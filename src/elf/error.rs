//! Why an executable could not be written.

use thiserror::Error;

/// Why an executable could not be written.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ElfError {
    /// No message and no exit leave nothing to execute.
    #[error(
        "an empty `--message` and `--no-exit` leave no code to run; help: give one of them, e.g. `--exit 0`"
    )]
    NothingToRun,
    /// The code given is empty.
    #[error(
        "the machine code is empty: there is nothing to run; help: give `--code` a file with instructions"
    )]
    EmptyCode,
    /// The image would not fit where it must be loaded.
    #[error("{length} bytes are more than an image may hold ({limit}); help: give at most that many")]
    TooLong {
        /// Bytes asked for.
        length: usize,
        /// Bytes possible.
        limit: usize,
    },
    /// Not one of the architectures that we write for.
    #[error("unknown architecture `{0}`; help: use `--arch x86-64`, `i386`, `aarch64` or `riscv64`")]
    UnknownArchitecture(String),
}
