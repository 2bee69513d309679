//! Names and numbers of system calls, in the native table and in the 32-bit one of the same machine.

use super::{Abi, IO_URING_BASE, Syscall};
#[cfg(target_arch = "aarch64")]
use syscalls::arm as compat;
#[cfg(target_arch = "x86_64")]
use syscalls::x86 as compat;

/// The native number of a call.
pub fn native_number(name: &str) -> Option<u32> {
    let call: syscalls::Sysno = name.parse().ok()?;
    u32::try_from(call.id()).ok()
}

/// The number of a call in the 32-bit table.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn compat_number(name: &str) -> Option<u32> {
    let call: compat::Sysno = name.parse().ok()?;
    u32::try_from(call.id()).ok()
}

/// The others have no such table.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn compat_number(_name: &str) -> Option<u32> {
    None
}

/// The name of a call; `syscall_NUMBER` if it has none.
pub fn name(call: Syscall) -> String {
    if call.number >= IO_URING_BASE {
        return format!("io_uring_op_{}", call.number - IO_URING_BASE);
    }
    let known = match call.abi {
        Abi::Native => syscalls::Sysno::new(call.number as usize).map(|call| call.name()),
        Abi::Compat => compat_name(call.number as usize),
    };
    known.map_or_else(|| format!("syscall_{}", call.number), str::to_owned)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn compat_name(number: usize) -> Option<&'static str> {
    compat::Sysno::new(number).map(|call| call.name())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn compat_name(_number: usize) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_its_name_and_by_its_number() {
        let number = native_number("openat").unwrap();
        assert_eq!(name(Syscall { abi: Abi::Native, number }), "openat");
        assert_eq!(native_number("no_such_call"), None);
        assert_eq!(name(Syscall { abi: Abi::Native, number: 60_000 }), "syscall_60000");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_same_number_means_different_calls_in_the_two_tables() {
        assert_eq!(name(Syscall { abi: Abi::Native, number: 4 }), "stat");
        assert_eq!(name(Syscall { abi: Abi::Compat, number: 4 }), "write");
    }
}
