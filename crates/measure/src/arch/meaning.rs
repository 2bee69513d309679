//! Which system calls execute a program, and which write to a descriptor.

use super::CallTable;
use std::sync::LazyLock;

/// What a system call means for the phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It executes a program.
    Exec,
    /// It may write to a descriptor, which is its argument at this position, from 0.
    Output(u8),
}

use Meaning::{Exec, Output};

/// See `man 2` of each.
const MEANINGS: [(&str, Meaning); 16] = [
    ("copy_file_range", Output(2)),
    ("execve", Exec),
    ("execveat", Exec),
    ("pwrite64", Output(0)),
    ("pwritev", Output(0)),
    ("pwritev2", Output(0)),
    ("sendfile", Output(0)),
    ("sendfile64", Output(0)),
    ("sendmmsg", Output(0)),
    ("sendmsg", Output(0)),
    ("sendto", Output(0)),
    ("splice", Output(2)),
    ("tee", Output(1)),
    ("vmsplice", Output(0)),
    ("write", Output(0)),
    ("writev", Output(0)),
];

/// The meanings of the calls that have one.
pub fn meanings() -> &'static CallTable<Meaning> {
    static TABLE: LazyLock<CallTable<Meaning>> = LazyLock::new(|| CallTable::by_name(&MEANINGS));
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::super::call_table::is_known;
    use super::*;

    #[test]
    fn every_name_is_a_system_call_somewhere() {
        for (name, _) in MEANINGS {
            assert!(is_known(name), "{name}");
        }
    }

    /// `arch/x86/entry/syscalls/syscall_64.tbl` and `syscall_32.tbl`.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_numbers_are_those_of_the_published_tables() {
        use super::super::Abi;
        use super::super::call_table::numbers;
        let native = [1, 18, 20, 40, 44, 46, 59, 275, 276, 278, 296, 307, 322, 326, 328];
        let compat = [4, 11, 146, 181, 187, 239, 313, 315, 316, 334, 345, 358, 369, 370, 377, 379];
        assert_eq!(numbers(meanings(), Abi::Native), native);
        assert_eq!(numbers(meanings(), Abi::Compat), compat);
    }
}
