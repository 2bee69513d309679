//! Starts one program as a tracee: vfork semantics, stdio, signals, affinity, time limits, peak memory.
//!
//! [`Command`] is what to execute, resolved before the first run, so that a misspelt name is reported at once.
//! [`Launcher`] creates the process, [`stdio`] is where it writes, [`wait`] waits until it is reaped, and [`tree`]
//! makes sure that none of its processes remain. A [`Foreground`] command is the user's own work instead: it has our
//! stdin, stdout and stderr, and what it leaves running is left alone.

pub mod affinity;
mod attendant;
mod child;
mod child_steps;
mod command;
pub mod diagnosis;
pub mod environment;
pub(crate) mod exec_stop;
pub mod exit_status;
mod foreground;
pub mod hook_runner;
mod inherited;
pub mod interrupt;
pub mod kill_guard;
mod known_environment;
mod launcher;
pub mod limits;
mod notify;
pub mod nudge;
pub mod ourselves;
mod pipes;
mod places;
pub mod port;
pub(crate) mod ready;
pub mod rights;
mod search_path;
mod stderr;
pub mod stdio;
mod temporary;
pub mod tree;
pub mod until;
mod usage;
pub mod wait;

pub use affinity::{CpuSet, on_one_processor};
pub use child::Child;
pub use command::{Command, ResolveError};
pub use diagnosis::LaunchError;
pub use environment::Environment;
pub use exit_status::ExitStatus;
pub use foreground::Foreground;
pub use inherited::leave_inherited_children;
pub use known_environment::KnownEnvironment;
pub use launcher::{Launcher, Preparation};
pub use ourselves::{outlive_file_size_limits, ready_standard_streams};
pub use search_path::find_in_path;
pub use stdio::{Collected, OutputKind, Stdout};
pub use temporary::{last_line, temporary_file};
pub use until::Until;
pub use usage::{Usage, own_processor_time};
pub use wait::{Ended, Watch};
