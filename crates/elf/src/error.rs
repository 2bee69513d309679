//! Why an executable could not be written.

use thiserror::Error;

/// Why an executable could not be written.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ElfError {
    /// There is neither a message nor an exit, so there is nothing to run.
    #[error(
        "an empty `--message` with `--no-exit` leaves no code to run\nhelp: give a message, or an exit status as in `--exit 0`"
    )]
    NothingToRun,
    /// The machine code is empty.
    #[error(
        "the machine code is empty: there is nothing to run\nhelp: give `--code` a file with instructions"
    )]
    EmptyCode,
    /// The image does not fit into the address space.
    #[error(
        "{length} bytes do not fit into an image: the limit is {limit}\nhelp: give at most {limit} bytes"
    )]
    TooLong {
        /// The requested number of bytes.
        length: usize,
        /// The highest possible number of bytes.
        limit: usize,
    },
    /// The packed layout always exits.
    #[error(
        "the packed layout always exits, because `--no-exit` would not make the file smaller\nhelp: use `--layout plain`, or `--exit STATUS`"
    )]
    PackedExits,
    /// The segment cannot have this alignment.
    #[error(
        "`{bytes}` is not an alignment that the segment can have\nhelp: give a power of two of at most {limit}, as in `--align 4`"
    )]
    Alignment {
        /// The requested alignment.
        bytes: u64,
        /// The highest possible alignment.
        limit: u64,
    },
    /// The packed layout has no alignment of its own.
    #[error(
        "the packed layout puts other values where the alignment is\nhelp: use `--layout plain`, or leave out `--align`"
    )]
    PackedAligns,
    /// A backslash is followed by something that is not an escape.
    #[error("`{0}` is not a valid escape\nhelp: use `\\n`, `\\t`, `\\r`, `\\0`, `\\\\` or `\\xHH`")]
    UnknownEscape(String),
    /// Executables cannot be written for this architecture.
    #[error("unknown architecture `{0}`\nhelp: use `--arch x86-64`, `i386`, `aarch64` or `riscv64`")]
    UnknownArchitecture(String),
}
