//! The ways to call the kernel.

use iced_x86::Register;

/// The system calls that matter here, of one way to call the kernel.
pub(super) struct Table {
    pub(super) exits: [u64; 2],
    pub(super) write: u64,
    /// execve, execveat, and what sends signals or returns from them.
    pub(super) replaces: [u64; 6],
    /// Where the address and the length of what is written are.
    pub(super) arguments: [Register; 2],
    /// What the kernel changes; first, where its result is.
    pub(super) changes: [Register; 3],
}

pub(super) const SYSCALL: Table = Table {
    exits: [60, 231],
    write: 1,
    replaces: [59, 322, 62, 200, 234, 15],
    arguments: [Register::RSI, Register::RDX],
    changes: [Register::RAX, Register::RCX, Register::R11],
};

/// `int 0x80`, in programs of 64 bits, too.
pub(super) const INTERRUPT: Table = Table {
    exits: [1, 252],
    write: 4,
    replaces: [11, 358, 37, 238, 270, 119],
    arguments: [Register::ECX, Register::EDX],
    changes: [Register::EAX, Register::EAX, Register::EAX],
};
