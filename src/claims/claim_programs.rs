//! Programs that only claims need: they print nothing, or something other than hello world.

use crate::corpus::embedded::programs_of;
use crate::corpus::{CorpusError, Program};

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/claims.packed"));

/// Whether a program is one of the solutions of C Runtime Overhead's Level 0, or runs beside them. They are built and run apart from the corpus.
pub fn is_level0(program: &str) -> bool {
    program.starts_with("level0")
}

/// The embedded programs, sorted by name.
pub fn programs() -> Result<Vec<Program>, CorpusError> {
    programs_of(PROGRAMS)
}
