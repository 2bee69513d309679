//! The mark that ends a run.

use super::RunOptions;
use super::event::{MarkKind, MarkPath};
use crate::launch::until::MarkSeen;
use crate::launch::{Stdout, Until};
use crate::units::Nanos;
use std::sync::Arc;

/// Looks for it among the marks that a tracer sees.
#[derive(Clone, Debug)]
pub(super) struct AwaitedMark {
    name: Arc<str>,
    seen: MarkSeen,
}

impl AwaitedMark {
    /// `None`: no mark ends the run.
    pub(super) fn of(options: &RunOptions, stdout: &Stdout) -> Option<AwaitedMark> {
        let Some(Until::Mark(name)) = &options.until else { return None };
        Some(AwaitedMark { name: Arc::clone(name), seen: stdout.awaited_mark()? })
    }

    /// A lookup of this path was entered then, and failed.
    pub(super) fn looked_up(&self, path: &[u8], at: Nanos) {
        let is_end = |mark: &MarkPath| mark.kind != MarkKind::Begins && mark.displayed() == *self.name;
        if MarkPath::of(path).as_ref().is_some_and(is_end) {
            self.seen.note(at);
        }
    }
}
