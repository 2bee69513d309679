//! A place in the code, and what is known there.

use super::state::State;
use crate::inspect::headers::PAGE;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
pub(super) struct Cursor {
    /// The address of the next instruction.
    pub(super) at: u64,
    pub(super) state: State,
    /// The numbers of the pages that were touched, and whether something was written there.
    pub(super) pages: BTreeSet<(u64, bool)>,
}

impl Cursor {
    pub(super) fn new(at: u64, state: State) -> Cursor {
        Cursor { at, state, pages: BTreeSet::new() }
    }

    pub(super) fn touch(&mut self, address: u64, is_write: bool) {
        self.pages.insert((address / PAGE, is_write));
    }
}
