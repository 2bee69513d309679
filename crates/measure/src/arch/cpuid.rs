//! The cost of a CPUID instruction, which traps in a virtual machine.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The CPUID instructions at a program's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpuid {
    /// The cost of one, on the machine that ran it.
    pub each: Nanos,
    /// How many the command executed before it opened or wrote anything. They were counted, not estimated.
    pub executed: u64,
}

/// The cost of one CPUID instruction: the median of several batches, each long enough that reading the clock hardly
/// counts. `None` if the processor has no such instruction.
#[cfg(target_arch = "x86_64")]
pub fn cpuid_cost() -> Option<Nanos> {
    use crate::clock::now;
    const BATCH: u64 = 8;
    let mut batches: Vec<u64> = (0..31)
        .map(|_| {
            let before = now();
            for _ in 0..BATCH {
                // SAFETY: every x86-64 processor has the instruction. Newer compilers know that, too.
                #[allow(unused_unsafe, reason = "the oldest supported compiler needs it")]
                std::hint::black_box(unsafe { std::arch::x86_64::__cpuid(0) });
            }
            now().0.saturating_sub(before.0) / BATCH
        })
        .collect();
    batches.sort_unstable();
    batches.get(batches.len() / 2).map(|ns| Nanos(*ns))
}

/// Other architectures have no such instruction.
#[cfg(not(target_arch = "x86_64"))]
pub fn cpuid_cost() -> Option<Nanos> {
    None
}
