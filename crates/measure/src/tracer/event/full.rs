//! What the full mode adds to the event vocabulary: whole system calls, page faults, absences, images.

use crate::arch::Syscall;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// One system call; the event's instant is that of its return, or of its entry if it never returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which.
    pub call: Syscall,
    /// When it was entered.
    pub entered: Nanos,
    /// What it returned: a value or a negative errno. `None`: it never did (`exit`, or killed within it).
    pub result: Option<i64>,
    /// Its arguments, as they lay in the registers.
    #[serde(default)]
    pub arguments: [u64; 6],
    /// The user's instruction pointer; 0 if it was not seen.
    #[serde(default)]
    pub ip: u64,
    /// The top words of the user's stack, where return addresses lie among others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<u64>,
    /// Its path arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// It may write to the stdout that we gave the tracee.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output: bool,
}

/// One page fault; the event's instant is when it had been handled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// When it was taken.
    pub entered: Nanos,
    /// The address that was touched.
    pub address: u64,
    /// The instruction that touched it; within the kernel if `user` is not set.
    pub ip: u64,
    /// User code touched it, and not the kernel on its behalf.
    pub user: bool,
    /// It was a write; `None`: whoever saw it does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<bool>,
    /// It needed I/O.
    pub major: bool,
    /// The top words of the user's stack, where return addresses lie among others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<u64>,
}

/// A thread runs again; the event's instant is when it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffCpu {
    /// When it left the processor; 0: it had not run before.
    pub left: Nanos,
    /// When it was woken up; 0: it was not, or nobody saw it.
    #[serde(default)]
    pub woken: Nanos,
    /// It could have gone on: another thread was preferred.
    pub preempted: bool,
}

/// An exec has built its new image; the event's instant is that of `sched_process_exec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The file that was named.
    pub path: String,
    /// The file that is executed: another one where the named file is a script.
    pub executed: String,
    /// The argument vector, as far as it was read.
    pub argv: Vec<String>,
    /// First address of the executable's code, and the one after its last.
    pub code: [u64; 2],
    /// The same of its data.
    pub data: [u64; 2],
    /// Where the heap begins.
    pub brk: u64,
    /// Where the stack began.
    pub stack: u64,
    /// The auxiliary vector (`getauxval(3)`): types and values.
    pub auxv: Vec<[u64; 2]>,
    /// The thread id before the exec, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_tid: Option<u32>,
}

impl Image {
    /// The auxiliary vector's value of a type.
    pub fn auxiliary(&self, kind: u64) -> Option<u64> {
        self.auxv.iter().find(|entry| entry[0] == kind).map(|entry| entry[1])
    }
}

/// The auxiliary vector as the kernel lays it out: pairs of words up to `AT_NULL`. Those of a 32-bit process have 4 bytes
/// a word, and then two make a type that no vector has.
pub(in crate::tracer) fn auxiliary_vector(bytes: &[u8]) -> Vec<[u64; 2]> {
    let long: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let short: Vec<u64> = bytes.as_chunks::<4>().0.iter().map(|w| u32::from_ne_bytes(*w).into()).collect();
    let is_narrow = long.first().is_some_and(|first| *first > u32::MAX.into());
    let words = if is_narrow { short } else { long };
    words.as_chunks::<2>().0.iter().copied().take_while(|entry| entry[0] != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auxiliary_vectors_of_both_widths_end_at_their_null() {
        let wide: Vec<u8> =
            [33_u64, 0x7fff_0000_1000, 9, 0x40_0000, 0, 0, 7, 7].map(u64::to_ne_bytes).concat();
        assert_eq!(auxiliary_vector(&wide), [[33, 0x7fff_0000_1000], [9, 0x40_0000]]);
        let narrow: Vec<u8> = [32_u32, 0xf7f0_0000, 9, 0x804_8000, 0, 0, 7, 7].map(u32::to_ne_bytes).concat();
        assert_eq!(auxiliary_vector(&narrow), [[32, 0xf7f0_0000], [9, 0x804_8000]]);
        assert_eq!(auxiliary_vector(&[1, 2, 3]), [[0_u64; 2]; 0]);
    }
}
