//! Which system calls execute a program, and which write to a descriptor: by number, in each ABI.
//!
//! Numbers: `arch/x86/entry/syscalls/syscall_64.tbl` and `syscall_32.tbl`, `include/uapi/asm-generic/unistd.h`.

/// What a system call means for the phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It executes a program.
    Exec,
    /// It may write to the descriptor that is its argument of this position, from 0.
    Output(u8),
}

use Meaning::{Exec, Output};

/// `io_uring_setup`, by whose ring a program can write without a call: calls from 403 on have one number in all tables.
pub const IO_URING_SETUP: u32 = 425;

/// The calls of one table that mean something, by number.
pub type Meanings = &'static [(u32, Meaning)];

/// The meanings of the native calls, and of those of the 32-bit table.
pub fn meanings() -> (Meanings, Meanings) {
    (NATIVE, COMPAT)
}

#[cfg(target_arch = "x86_64")]
const NATIVE: Meanings = &[
    (1, Output(0)),   // write
    (18, Output(0)),  // pwrite64
    (20, Output(0)),  // writev
    (40, Output(0)),  // sendfile
    (44, Output(0)),  // sendto
    (46, Output(0)),  // sendmsg
    (59, Exec),       // execve
    (275, Output(2)), // splice
    (276, Output(1)), // tee
    (278, Output(0)), // vmsplice
    (296, Output(0)), // pwritev
    (307, Output(0)), // sendmmsg
    (322, Exec),      // execveat
    (326, Output(2)), // copy_file_range
    (328, Output(0)), // pwritev2
];

#[cfg(target_arch = "x86_64")]
const COMPAT: Meanings = &[
    (4, Output(0)),   // write
    (11, Exec),       // execve
    (146, Output(0)), // writev
    (181, Output(0)), // pwrite64
    (187, Output(0)), // sendfile
    (239, Output(0)), // sendfile64
    (313, Output(2)), // splice
    (315, Output(1)), // tee
    (316, Output(0)), // vmsplice
    (334, Output(0)), // pwritev
    (345, Output(0)), // sendmmsg
    (358, Exec),      // execveat
    (369, Output(0)), // sendto
    (370, Output(0)), // sendmsg
    (377, Output(2)), // copy_file_range
    (379, Output(0)), // pwritev2
];

#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const NATIVE: Meanings = &[
    (64, Output(0)),  // write
    (66, Output(0)),  // writev
    (68, Output(0)),  // pwrite64
    (70, Output(0)),  // pwritev
    (71, Output(0)),  // sendfile
    (75, Output(0)),  // vmsplice
    (76, Output(2)),  // splice
    (77, Output(1)),  // tee
    (206, Output(0)), // sendto
    (211, Output(0)), // sendmsg
    (221, Exec),      // execve
    (269, Output(0)), // sendmmsg
    (281, Exec),      // execveat
    (285, Output(2)), // copy_file_range
    (287, Output(0)), // pwritev2
];

/// 32-bit Arm and RISC-V programs: their tables differ, and none has been tried here.
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const COMPAT: Meanings = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_numbers_are_those_of_the_published_tables() {
        for &(number, meaning) in NATIVE {
            let name = syscalls::x86_64::Sysno::new(number as usize).unwrap().name().to_owned();
            assert_eq!(name.starts_with("exec"), meaning == Exec, "{name}");
        }
        for &(number, meaning) in COMPAT {
            let name = syscalls::x86::Sysno::new(number as usize).unwrap().name().to_owned();
            assert_eq!(name.starts_with("exec"), meaning == Exec, "{name}");
        }
    }
}
