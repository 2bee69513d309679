//! Why an executable could not be written.

use thiserror::Error;

/// Why an executable could not be written.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ElfError {
    /// No message and no exit leave nothing to execute.
    #[error(
        "an empty `--message` and `--no-exit` leave no code to run\nhelp: give one of them, e.g. `--exit 0`"
    )]
    NothingToRun,
    /// The code given is empty.
    #[error(
        "the machine code is empty: there is nothing to run\nhelp: give `--code` a file with instructions"
    )]
    EmptyCode,
    /// The image would not fit where it must be loaded.
    #[error("{length} bytes are more than an image may hold ({limit})\nhelp: give at most that many")]
    TooLong {
        /// Bytes asked for.
        length: usize,
        /// Bytes possible.
        limit: usize,
    },
    /// The packed layout always exits.
    #[error(
        "the packed layout always exits: `--no-exit` would make no file smaller\nhelp: use `--layout plain`, or `--exit STATUS`"
    )]
    PackedExits,
    /// An escape that we do not know.
    #[error("`{0}` is no escape\nhelp: use `\\n`, `\\t`, `\\r`, `\\0`, `\\\\` or `\\xHH`")]
    UnknownEscape(String),
    /// Not one of the architectures that we write for.
    #[error("unknown architecture `{0}`\nhelp: use `--arch x86-64`, `i386`, `aarch64` or `riscv64`")]
    UnknownArchitecture(String),
}
