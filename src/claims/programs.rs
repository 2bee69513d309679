//! Programs that only claims need: they print nothing, or no hello.

use crate::corpus::embedded::programs_of;
use crate::corpus::{CorpusError, Program};
use include_dir::{Dir, include_dir};

static PROGRAMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/claims");

/// The embedded programs, sorted by name.
pub fn programs() -> Result<Vec<Program>, CorpusError> {
    programs_of(&PROGRAMS)
}
