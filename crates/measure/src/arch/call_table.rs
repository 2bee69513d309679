//! A value for each of some system calls: listed by name, found by number.

use super::{Abi, Syscall, compat_number, native_number};
use std::collections::BTreeMap;

/// Values of some system calls, in the native table and in the 32-bit one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTable<T> {
    native: BTreeMap<u32, T>,
    compat: BTreeMap<u32, T>,
}

impl<T: Copy> CallTable<T> {
    /// From the names of calls. A name that one of the tables does not have is left out there.
    pub fn by_name(entries: &[(&str, T)]) -> CallTable<T> {
        let numbered = |number: fn(&str) -> Option<u32>| {
            entries.iter().filter_map(|(name, value)| Some((number(name)?, *value))).collect()
        };
        CallTable { native: numbered(native_number), compat: numbered(compat_number) }
    }

    /// The value of a call; `None` if it has none.
    pub fn get(&self, call: Syscall) -> Option<T> {
        self.table(call.abi).get(&call.number).copied()
    }

    /// All calls of one table that have a value, by ascending number.
    pub fn of(&self, abi: Abi) -> impl Iterator<Item = (u32, T)> {
        self.table(abi).iter().map(|(number, value)| (*number, *value))
    }

    fn table(&self, abi: Abi) -> &BTreeMap<u32, T> {
        match abi {
            Abi::Native => &self.native,
            Abi::Compat => &self.compat,
        }
    }
}

/// Whether any architecture has a call of this name: a misspelt name would silently be left out.
#[cfg(test)]
pub(super) fn is_known(name: &str) -> bool {
    name.parse::<syscalls::x86_64::Sysno>().is_ok()
        || name.parse::<syscalls::x86::Sysno>().is_ok()
        || name.parse::<syscalls::aarch64::Sysno>().is_ok()
        || name.parse::<syscalls::riscv64::Sysno>().is_ok()
}

/// The numbers of a table's calls.
#[cfg(test)]
pub(super) fn numbers<T: Copy>(table: &CallTable<T>, abi: Abi) -> Vec<u32> {
    table.of(abi).map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_the_number_that_it_has_in_its_own_table() {
        let table = CallTable::by_name(&[("write", 'w'), ("no_such_call", '?')]);
        let native = native_number("write").unwrap();
        assert_eq!(table.get(Syscall { abi: Abi::Native, number: native }), Some('w'));
        assert_eq!(table.get(Syscall { abi: Abi::Native, number: 60_000 }), None);
        assert_eq!(table.of(Abi::Native).collect::<Vec<_>>(), [(native, 'w')]);

        let compat = compat_number("write").map(|number| Syscall { abi: Abi::Compat, number });
        assert_eq!(compat.and_then(|call| table.get(call)), compat.map(|_| 'w'));
    }
}
