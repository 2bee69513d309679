//! A system call as every backend reports it: its number and the table that the number belongs to.

use serde::{Deserialize, Serialize};

/// A system call by its number in its ABI: on x86-64 the same number means different calls in the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Syscall {
    /// Which table the number belongs to.
    pub abi: Abi,
    /// The number. `io_uring` operations, which have none, are `IO_URING_BASE` + opcode.
    pub number: u32,
}

/// Numbers from here on are `io_uring` opcodes.
pub const IO_URING_BASE: u32 = 0x1_0000;

/// A system-call table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Abi {
    /// The architecture's own 64-bit table.
    #[default]
    Native,
    /// The 32-bit table of the same machine (`int 0x80` on x86-64, Arm on aarch64).
    Compat,
}

/// `io_uring_setup`, in every table: system calls from 403 on have the same number in all of them.
pub const IO_URING_SETUP: u32 = 425;
