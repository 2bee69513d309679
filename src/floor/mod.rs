//! What this machine charges: system calls, processes, page faults, shell builtins; and the waterfall.
//!
//! [`batch`] is the one way of measuring: rounds in which every subject is timed once, in random order, in batches
//! long enough that the clock's step does not matter, with the cost of the clock and of the loop measured in the same
//! rounds and subtracted. [`syscalls`], [`processes`] and [`shells`] say what is timed, [`figure`] is what comes out.
//! [`calibration`] keeps what a page fault, a library and a relocation cost here, [`waterfall`] sets the layers between
//! a shell and a raw system call one above the other.

mod alarm;
pub mod batch;
pub mod calibration;
mod clock;
pub mod cores;
mod error;
mod faults;
pub mod figure;
mod layers;
mod loader;
mod pinned;
pub mod prints;
pub mod processes;
pub mod shells;
pub mod spawn;
pub mod survey;
pub mod syscalls;
mod targets;
pub mod waterfall;

pub use batch::{Overhead, Rounds, Subject};
pub use calibration::{Calibration, Cost};
pub use error::FloorError;
pub use figure::{Figure, Floor, Group, Histogram, Missing};
pub use layers::{COMMAND, Subordinate};
pub use pinned::{Pinned, allowed_cpus};
pub use processes::Rung;
pub use survey::{Effort, Survey};
pub(crate) use targets::file_system;
