//! What this machine charges: system calls, processes, page faults, shell builtins, and the waterfall.
//!
//! [`batch`] is the one way to measure: rounds in which every microbenchmark is timed once, in random order, in batches
//! long enough that the clock's resolution does not matter. The cost of the clock and of the loop is measured in the same
//! rounds and subtracted. [`syscalls`], [`processes`] and [`shells`] define what is timed. [`calibration`] keeps the cost
//! of a page fault, a library and a relocation. [`survey`] measures the groups that were asked for; its figures and
//! waterfalls go to the [document](crate::document::floor).

mod alarm;
pub mod batch;
pub mod calibration;
mod clock_resolution;
pub mod cpu_limits;
mod cpu_scaling;
mod error;
pub mod estimate;
mod faults;
mod group_result;
mod ladder;
mod layers;
mod loader;
mod measured_floor;
mod pinned;
pub mod prints;
pub mod processes;
pub mod shells;
mod sinks;
pub mod spawn;
pub mod survey;
pub mod syscalls;
pub mod unit_costs;

pub use cpu_scaling::scale_cpus;
pub use error::FloorError;
pub use group_result::GroupResult;
pub use ladder::ladder;
pub use layers::{COMMAND, UserCommand};
pub use measured_floor::{FloorPlan, empty, measure};
pub use pinned::{Pinned, allowed_cpus};
pub use processes::Rung;
pub use survey::{Effort, Survey};
