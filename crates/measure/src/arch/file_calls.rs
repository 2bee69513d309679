//! Which system calls open files, and which read from descriptors.

use super::CallTable;
use std::sync::LazyLock;

/// What a call does with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCall {
    /// It opens a file by its path.
    Open,
    /// It reads from a descriptor (of a file, a pipe, a terminal) and returns the number of bytes.
    ///
    /// This is the one definition of the bytes that count as read: `read(2)` and its variants. `recv(2)` and its
    /// variants do not count, nor do calls that move bytes between two descriptors without the program seeing them.
    Read,
    /// It sets up an `io_uring`, through which files can be opened, read and written without further calls.
    Ring,
}

use FileCall::{Open, Read, Ring};

/// See `man 2` of each.
const FILE_CALLS: [(&str, FileCall); 10] = [
    ("creat", Open),
    ("io_uring_setup", Ring),
    ("open", Open),
    ("openat", Open),
    ("openat2", Open),
    ("pread64", Read),
    ("preadv", Read),
    ("preadv2", Read),
    ("read", Read),
    ("readv", Read),
];

/// What each call that deals with files does.
pub fn file_calls() -> &'static CallTable<FileCall> {
    static TABLE: LazyLock<CallTable<FileCall>> = LazyLock::new(|| CallTable::by_name(&FILE_CALLS));
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::super::call_table::is_known;
    use super::super::{IO_URING_SETUP, native_number};
    use super::*;

    #[test]
    fn every_name_is_a_system_call_somewhere() {
        for (name, _) in FILE_CALLS {
            assert!(is_known(name), "{name}");
        }
        assert_eq!(native_number("io_uring_setup"), Some(IO_URING_SETUP));
    }

    /// `arch/x86/entry/syscalls/syscall_64.tbl` and `syscall_32.tbl`.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_numbers_are_those_of_the_published_tables() {
        use super::super::Abi;
        use super::super::call_table::numbers;
        let native = [0, 2, 17, 19, 85, 257, 295, 327, 425, 437];
        let compat = [3, 5, 8, 145, 180, 295, 333, 378, 425, 437];
        assert_eq!(numbers(file_calls(), Abi::Native), native);
        assert_eq!(numbers(file_calls(), Abi::Compat), compat);
    }
}
