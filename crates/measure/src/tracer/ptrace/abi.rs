//! Which system-call table a stop speaks of: the audit architecture, and x86's third table, x32.

use crate::arch::{Abi, Syscall};

/// The machine's own table (`include/uapi/linux/audit.h`).
pub(super) const NATIVE: u32 = match () {
    #[cfg(target_arch = "x86_64")]
    () => 0xc000_003e,
    #[cfg(target_arch = "aarch64")]
    () => 0xc000_00b7,
    #[cfg(target_arch = "riscv64")]
    () => 0xc000_00f3,
};

/// The 32-bit table of the same machine; 0 where it has none.
pub(super) const COMPAT: u32 = match () {
    #[cfg(target_arch = "x86_64")]
    () => 0x4000_0003,
    #[cfg(target_arch = "aarch64")]
    () => 0x4000_0028,
    #[cfg(target_arch = "riscv64")]
    () => 0,
};

/// x32 programs call the native table's entries with this bit set (`__X32_SYSCALL_BIT`).
pub(super) const X32_BIT: u32 = if cfg!(target_arch = "x86_64") { 0x4000_0000 } else { 0 };

/// The calls that x32 numbers apart, and the native ones that they are: those that execute, write, open or read
/// (`arch/x86/entry/syscalls/syscall_64.tbl`, from 512 on).
pub(super) const X32_APART: &[(u32, u32)] = if cfg!(target_arch = "x86_64") {
    &[
        (515, 19),  // readv
        (516, 20),  // writev
        (518, 46),  // sendmsg
        (520, 59),  // execve
        (532, 278), // vmsplice
        (534, 295), // preadv
        (535, 296), // pwritev
        (538, 307), // sendmmsg
        (545, 322), // execveat
        (546, 327), // preadv2
        (547, 328), // pwritev2
    ]
} else {
    &[]
};

/// `execveat`, whose path is its second argument, in the native table and in the 32-bit one.
pub(super) const EXECVEAT: (u32, u32) = if cfg!(target_arch = "x86_64") { (322, 358) } else { (281, 387) };

/// A call by what the kernel says of it; x32 calls by their native numbers.
pub(super) fn syscall(arch: u32, number: u64) -> Syscall {
    // the kernel takes the low half alone; what exceeds it is no call at all
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    if arch != NATIVE {
        return Syscall { abi: Abi::Compat, number };
    }
    if X32_BIT == 0 || number & X32_BIT == 0 || number == u32::MAX {
        return Syscall { abi: Abi::Native, number };
    }
    let number = number & !X32_BIT;
    let same = X32_APART.iter().find(|(x32, _)| *x32 == number).map_or(number, |(_, native)| *native);
    Syscall { abi: Abi::Native, number: same }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_means_a_call_of_its_own_table() {
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
