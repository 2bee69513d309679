//! Where to search first: the best arrangements that an exhaustive search found for a text of 14 bytes.
//!
//! The search still places code and message itself. A test compares these entries with an exhaustive search. For other
//! messages, the smallest file might have another arrangement.

use super::arrangement::{Arrangement, Demands};
use crate::Architecture;

/// A place of the program header, and the smallest size of a file with it, without its message, in bytes.
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

/// The least number of bytes in a file besides its message.
pub(super) fn overhead(architecture: Architecture, demands: Demands) -> usize {
    known(architecture, demands).overhead
}

/// Whether the exhaustive search found its best file in this arrangement.
pub(super) fn is_good(layout: &Arrangement) -> bool {
    let known = known(layout.architecture, layout.demands);
    (layout.program_header, layout.anywhere) == (known.program_header, known.anywhere)
}
