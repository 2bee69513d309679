//! The system-call table that a stop refers to: by the audit architecture, and for x86's third table, x32.

use super::{Abi, Syscall, native_number};
use std::sync::LazyLock;

/// The machine's own table (`include/uapi/linux/audit.h`).
pub(crate) const NATIVE: u32 = match () {
    #[cfg(target_arch = "x86_64")]
    () => 0xc000_003e,
    #[cfg(target_arch = "aarch64")]
    () => 0xc000_00b7,
    #[cfg(target_arch = "riscv64")]
    () => 0xc000_00f3,
};

/// The 32-bit table of the same machine; 0 if it has none.
pub(crate) const COMPAT: u32 = match () {
    #[cfg(target_arch = "x86_64")]
    () => 0x4000_0003,
    #[cfg(target_arch = "aarch64")]
    () => 0x4000_0028,
    #[cfg(target_arch = "riscv64")]
    () => 0,
};

/// x32 programs call the entries of the native table with this bit set (`__X32_SYSCALL_BIT`).
pub(crate) const X32_BIT: u32 = if cfg!(target_arch = "x86_64") { 0x4000_0000 } else { 0 };

/// The calls that have a number of their own in x32, as far as they execute, write, open or read: that number, and
/// the name (`arch/x86/entry/syscalls/syscall_64.tbl`, from 512 on).
const X32_APART: [(u32, &str); 11] = [
    (515, "readv"),
    (516, "writev"),
    (518, "sendmsg"),
    (520, "execve"),
    (532, "vmsplice"),
    (534, "preadv"),
    (535, "pwritev"),
    (538, "sendmmsg"),
    (545, "execveat"),
    (546, "preadv2"),
    (547, "pwritev2"),
];

/// The same calls by their numbers in x32 and in the native table; empty on machines without x32.
fn x32_apart() -> &'static [(u32, u32)] {
    static APART: LazyLock<Vec<(u32, u32)>> = LazyLock::new(|| {
        let calls = X32_APART.iter().filter(|_| X32_BIT != 0);
        calls.filter_map(|(x32, name)| Some((*x32, native_number(name)?))).collect()
    });
    &APART
}

/// A native number, and the number of the same call in x32.
pub(crate) fn with_x32(number: u32) -> impl Iterator<Item = u32> {
    let apart = x32_apart().iter().find(|(_, native)| *native == number).map(|(x32, _)| *x32);
    let x32 = (X32_BIT != 0).then(|| apart.unwrap_or(number) | X32_BIT);
    [Some(number), x32].into_iter().flatten()
}

/// A call by the architecture and number that the kernel reports. x32 calls get their native numbers.
pub(crate) fn syscall(arch: u32, number: u64) -> Syscall {
    // The kernel uses only the low half; a larger number is not a system call.
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    if arch != NATIVE {
        return Syscall { abi: Abi::Compat, number };
    }
    if X32_BIT == 0 || number & X32_BIT == 0 || number == u32::MAX {
        return Syscall { abi: Abi::Native, number };
    }
    let number = number & !X32_BIT;
    let same = x32_apart().iter().find(|(x32, _)| *x32 == number).map_or(number, |(_, native)| *native);
    Syscall { abi: Abi::Native, number: same }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_refers_to_a_call_of_its_own_table() {
        assert_eq!(syscall(NATIVE, 1), Syscall { abi: Abi::Native, number: 1 });
        assert_eq!(syscall(NATIVE, u64::MAX), Syscall { abi: Abi::Native, number: u32::MAX });
        if COMPAT != 0 {
            assert_eq!(syscall(COMPAT, 4), Syscall { abi: Abi::Compat, number: 4 });
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn x32_calls_are_known_by_their_native_numbers() {
        assert_eq!(syscall(NATIVE, 0x4000_0001), Syscall { abi: Abi::Native, number: 1 });
        assert_eq!(syscall(NATIVE, 0x4000_0000 + 520), Syscall { abi: Abi::Native, number: 59 });
    }
}
