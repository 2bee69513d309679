//! A tracee between its creation and its end.

use crate::units::Nanos;

/// A tracee that has been created and not yet reaped.
#[derive(Debug)]
pub struct Child {
    /// Its process id, which is also the id of its process group.
    pub pid: i32,
    /// When it was created: the instant just before the `clone`, by [`crate::clock`].
    pub spawned: Nanos,
}
