//! `firstbyte watch`: counts and times the programs that a command or the machine starts.
//!
//! [`observe`] runs the watch, [`tally`] adds up what is observed, in bounded memory, and [`summary`] makes the document of
//! it, with the [`findings`], the [`critical`] path and the [`tree`] of processes.

mod command_lines;
mod critical;
mod findings;
mod memory;
mod observe;
mod program;
pub mod scope;
mod summary;
mod tally;
mod tree;

pub use command_lines::CommandLines;
pub use observe::{Audience, Subject, WatchError, WatchPlan, observe};

#[cfg(test)]
mod tests;
