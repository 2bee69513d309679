//! The phases of a run.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The partition of one run's total, in integer nanoseconds: the four sum to it exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Entry of the tracee's first `execve` to that call's return in the new image.
    pub startup: Nanos,
    /// From there to the entry of the first write of output. `None`: it printed nothing.
    pub setup: Option<Nanos>,
    /// That write. `None`: it printed nothing.
    pub write: Option<Nanos>,
    /// From there (or from `startup`'s end) to the exit of the tracee's thread group.
    pub teardown: Nanos,
}

impl Phases {
    /// startup + setup + write; `None` for a program that printed nothing.
    pub fn first_byte(&self) -> Option<Nanos> {
        Some(self.startup + self.setup? + self.write?)
    }

    /// All four.
    pub fn total(&self) -> Nanos {
        self.startup + self.setup.unwrap_or_default() + self.write.unwrap_or_default() + self.teardown
    }
}
