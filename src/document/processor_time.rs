//! Processor time: of a program as its parent is charged for it, and of its whole tree.

use super::distribution::Distribution;
use serde::{Deserialize, Serialize};

/// The kernel divides a processor time into user and system time by the ticks of its clock that it saw, which are 1 to 10 ms
/// apart. From this on, in seconds, there are at least ten of them; below it, the two figures say nothing.
pub const DIVIDED_BY_TICKS: f64 = 0.1;

/// Processor times, in nanoseconds, of runs in which every entry into the kernel was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessorTimes {
    /// User code of the program and of the processes for which it waited.
    pub user: Distribution,
    /// What the program's parent is charged for (`times(2)`, `getrusage(2)`): user and system time of the same processes.
    pub scored: Distribution,
    /// User and system time of every process of its tree, until the program exited.
    pub burnt: Distribution,
}

/// A smaller part of the time is no reason to say that others took it.
const WORTH_TELLING: f64 = 0.02;

impl ProcessorTimes {
    /// Whether processes for which the program did not wait took a part of the time that matters.
    pub fn is_partly_others(&self) -> bool {
        self.scored.median < self.burnt.median * (1.0 - WORTH_TELLING)
    }
}
