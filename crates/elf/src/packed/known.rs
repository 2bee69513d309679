//! Where to look first: what the exhaustive search found best for a text of 14 bytes.
//!
//! Only that: code and message are placed by the search all the same, and a test holds these entries against
//! an exhaustive search. For other messages the smallest file might be found elsewhere.

use super::layout::{Demands, Layout};
use crate::Architecture;

/// A place of the program header, and the least that a file then has beside its message, in bytes.
struct Known {
    program_header: usize,
    anywhere: bool,
    overhead: usize,
}

fn known(architecture: Architecture, demands: Demands) -> Known {
    let (program_header, anywhere, overhead) = match architecture {
        Architecture::X86_64 => (24, false, 72),
        Architecture::I386 => (4, false, 48),
        Architecture::Aarch64 if demands.real_kernels_only => (48, false, 100),
        Architecture::Aarch64 => (56, false, 108),
        Architecture::Riscv64 if demands.real_kernels_only => (47, false, 95),
        Architecture::Riscv64 => (47, false, 100),
    };
    Known { program_header, anywhere, overhead }
}

/// How many bytes a file has beside its message at least.
pub(super) fn overhead(architecture: Architecture, demands: Demands) -> usize {
    known(architecture, demands).overhead
}

/// Whether the exhaustive search found its best file in such an arrangement.
pub(super) fn is_good(layout: &Layout) -> bool {
    let known = known(layout.architecture, layout.demands);
    (layout.program_header, layout.anywhere) == (known.program_header, known.anywhere)
}
