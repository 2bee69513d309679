//! The machine code of the executables, written by hand.
//!
//! A write of at most `PIPE_BUF` (4096) bytes writes either all of them or nothing (pipe(7)), so one `write` without a
//! loop is enough for such messages. A longer write can be cut short (a stop signal while the pipe is full, a full
//! disk), so its code repeats the write until everything is written, and exits with status 1 if a write fails.

pub mod aarch64;
pub mod i386;
pub mod riscv64;
pub mod x86_64;

use super::Architecture;

/// The number of bytes that a write to a pipe writes completely or not at all (pipe(7)).
pub const PIPE_BUF: usize = 4096;

/// The exit status of a program whose write failed.
pub const WRITE_FAILED: u8 = 1;

/// A message to write, and how the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The address of the message.
    pub message_address: u64,
    /// The address of the code.
    pub code_address: u64,
    /// The length of the message in bytes.
    pub length: u32,
    /// The exit status. With `None` the program continues into the bytes after the code, and crashes.
    pub exit: Option<u8>,
}

impl Write {
    /// Whether the code needs a loop.
    pub fn loops(&self) -> bool {
        self.length as usize > PIPE_BUF
    }

    /// The distance of the message from a position in the code, in bytes.
    fn distance_from(&self, position: u64) -> i64 {
        self.message_address.cast_signed() - (self.code_address + position).cast_signed()
    }
}

/// The code that writes the message to stdout, unless it is empty, and then exits. Its length does not depend on the
/// addresses.
pub fn write_and_exit(architecture: Architecture, write: &Write) -> Vec<u8> {
    if write.length == 0 {
        return write.exit.map_or_else(Vec::new, |status| exit(architecture, status));
    }
    match architecture {
        Architecture::X86_64 => x86_64::write_and_exit(write),
        Architecture::I386 => i386::write_and_exit(write),
        Architecture::Aarch64 => aarch64::write_and_exit(write),
        Architecture::Riscv64 => riscv64::write_and_exit(write),
    }
}

/// The code that exits with a status.
pub fn exit(architecture: Architecture, status: u8) -> Vec<u8> {
    match architecture {
        Architecture::X86_64 => x86_64::exit(status),
        Architecture::I386 => i386::exit(status),
        Architecture::Aarch64 => words(&aarch64::exit(status)),
        Architecture::Riscv64 => words(&riscv64::exit(status)),
    }
}

/// The code of a minimal cat(1): copies stdin to stdout until its end and exits with 0, or with 1 if that fails.
pub fn copy(architecture: Architecture) -> Vec<u8> {
    match architecture {
        Architecture::X86_64 => x86_64::copy(),
        Architecture::I386 => i386::copy(),
        Architecture::Aarch64 => aarch64::copy(),
        Architecture::Riscv64 => riscv64::copy(),
    }
}

/// The little-endian bytes of 32-bit instructions.
fn words(instructions: &[u32]) -> Vec<u8> {
    instructions.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The low 32 bits of a distance, which must be within ±2 GiB.
#[expect(clippy::cast_possible_truncation, reason = "the image is shorter than 1 GiB")]
fn near(distance: i64) -> u32 {
    (distance as i32).cast_unsigned()
}
