//! The user registers that unwinding needs.

use crate::tracer::ptrace::place::StoppedAt;

/// The registers of one sample. What this processor does not have, or what unwinding does not need there, is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The instruction that runs next.
    pub ip: u64,
    /// The top of the stack.
    pub sp: u64,
    /// The frame pointer.
    pub fp: u64,
    /// The link register.
    pub lr: u64,
}

/// Bits of `perf_event_attr.sample_regs_user`, in ascending order: `arch/*/include/uapi/asm/perf_regs.h`.
#[cfg(target_arch = "x86_64")]
const ORDER: [(u32, Field); 3] = [(6, Field::Fp), (7, Field::Sp), (8, Field::Ip)];
#[cfg(target_arch = "aarch64")]
const ORDER: [(u32, Field); 4] = [(29, Field::Fp), (30, Field::Lr), (31, Field::Sp), (32, Field::Ip)];
#[cfg(target_arch = "riscv64")]
const ORDER: [(u32, Field); 4] = [(0, Field::Ip), (1, Field::Lr), (2, Field::Sp), (8, Field::Fp)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const ORDER: [(u32, Field); 0] = [];

#[derive(Clone, Copy)]
#[allow(dead_code, reason = "not every processor has a link register")]
enum Field {
    Ip,
    Sp,
    Fp,
    Lr,
}

impl From<StoppedAt> for Registers {
    fn from(StoppedAt { ip, sp, fp, lr, .. }: StoppedAt) -> Registers {
        Registers { ip, sp, fp, lr }
    }
}

impl Registers {
    /// The mask that asks for them.
    pub(super) fn mask() -> u64 {
        ORDER.iter().fold(0, |mask, (bit, _)| mask | 1 << bit)
    }

    /// How many values a sample has.
    pub(super) fn count() -> usize {
        ORDER.len()
    }

    /// From the values of a sample, in the order of the mask's bits.
    pub(super) fn from_values(values: impl Iterator<Item = u64>) -> Registers {
        let mut registers = Registers::default();
        for ((_, field), value) in ORDER.iter().zip(values) {
            match field {
                Field::Ip => registers.ip = value,
                Field::Sp => registers.sp = value,
                Field::Fp => registers.fp = value,
                Field::Lr => registers.lr = value,
            }
        }
        registers
    }
}
