//! Which system calls open files, and which read from descriptors: by number, in each ABI.
//!
//! Numbers: as in [`super::output_calls`].

use super::output_calls::IO_URING_SETUP;
use super::{Abi, Syscall};

/// What a call does with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCall {
    /// It opens a file by its path.
    Open,
    /// It reads from a descriptor, whatever that stands for (a file, a pipe, a terminal), and returns how many bytes. The
    /// one definition of what counts as read, in every pass: `read(2)` and its kin, not `recv(2)`'s, not what moves from
    /// one descriptor to another without the program seeing it.
    Read,
    /// It sets up an `io_uring`, by which files can be opened, read and written without any further call of their own.
    Ring,
}

use FileCall::{Open, Read, Ring};

/// The calls of one table, by number.
pub type FileCalls = &'static [(u32, FileCall)];

/// The native calls, and those of the 32-bit table.
pub fn file_calls() -> (FileCalls, FileCalls) {
    (NATIVE, COMPAT)
}

/// What a call does with files, if it does.
pub fn file_call(call: Syscall) -> Option<FileCall> {
    let table = if call.abi == Abi::Native { NATIVE } else { COMPAT };
    table.iter().find(|(number, _)| *number == call.number).map(|(_, does)| *does)
}

#[cfg(target_arch = "x86_64")]
const NATIVE: FileCalls = &[
    (0, Read),   // read
    (2, Open),   // open
    (17, Read),  // pread64
    (19, Read),  // readv
    (85, Open),  // creat
    (257, Open), // openat
    (295, Read), // preadv
    (327, Read), // preadv2
    (IO_URING_SETUP, Ring),
    (437, Open), // openat2
];

#[cfg(target_arch = "x86_64")]
const COMPAT: FileCalls = &[
    (3, Read),   // read
    (5, Open),   // open
    (8, Open),   // creat
    (145, Read), // readv
    (180, Read), // pread64
    (295, Open), // openat
    (333, Read), // preadv
    (378, Read), // preadv2
    (IO_URING_SETUP, Ring),
    (437, Open), // openat2
];

#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const NATIVE: FileCalls = &[
    (56, Open),  // openat
    (63, Read),  // read
    (65, Read),  // readv
    (67, Read),  // pread64
    (69, Read),  // preadv
    (286, Read), // preadv2
    (IO_URING_SETUP, Ring),
    (437, Open), // openat2
];

/// 32-bit Arm and RISC-V programs: none has been tried here.
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const COMPAT: FileCalls = &[];

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(name: &str, call: FileCall) -> bool {
        let opens = name.starts_with("open") || name == "creat";
        let reads = name.starts_with("read") || name.starts_with("pread");
        match call {
            Open => opens,
            Read => reads,
            Ring => name == "io_uring_setup",
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_numbers_are_those_of_the_published_tables() {
        for &(number, call) in NATIVE {
            let name = syscalls::x86_64::Sysno::new(number as usize).unwrap().name();
            assert!(fits(name, call), "{name}");
        }
        for &(number, call) in COMPAT {
            let name = syscalls::x86::Sysno::new(number as usize).unwrap().name();
            assert!(fits(name, call), "{name}");
        }
    }
}
