//! What a CPUID instruction costs: in a virtual machine it traps.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The CPUID instructions of a program's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpuid {
    /// What one costs on the machine that ran it.
    pub each: Nanos,
    /// How many the command executes before it opens or writes anything: counted, not estimated.
    pub executed: u64,
}

/// The median of some executions, without what reading the clock costs; `None` where there is no such instruction.
#[cfg(target_arch = "x86_64")]
pub fn cpuid_cost() -> Option<Nanos> {
    use crate::clock::now;
    const BATCH: u64 = 8;
    let mut batches: Vec<u64> = (0..31)
        .map(|_| {
            let before = now();
            for _ in 0..BATCH {
                std::hint::black_box(std::arch::x86_64::__cpuid(0));
            }
            now().0.saturating_sub(before.0) / BATCH
        })
        .collect();
    batches.sort_unstable();
    batches.get(batches.len() / 2).map(|ns| Nanos(*ns))
}

/// Other architectures have none.
#[cfg(not(target_arch = "x86_64"))]
pub fn cpuid_cost() -> Option<Nanos> {
    None
}
