//! `firstbyte watch`: counts and times the programs that a command or the machine starts.
//!
//! [`observe`] runs the watch, [`tally`] adds up what is observed, [`programs`] keeps the rows in bounded memory, and [`summary`] makes the document of
//! it, with the [`findings`], the [`critical`] path and the [`tree`] of processes. [`starts`] collects full traces.

mod command_lines;
mod critical;
mod findings;
#[cfg(fuzzing)]
pub mod fuzzed;
mod marks;
mod memory;
mod observe;
mod program;
mod programs;
pub mod scope;
mod starts;
mod summary;
mod tally;
mod tree;

pub use command_lines::CommandLines;
pub use observe::{Audience, Subject, WatchError, WatchPlan, Watched, observe};
pub use starts::WantedStarts;

#[cfg(test)]
mod tests;
