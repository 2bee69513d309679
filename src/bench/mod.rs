//! Schedules runs, launches them in turn, collects samples into series.
//!
//! [`schedule`] decides the order, [`campaign`] carries it out through a [`Runner`] (real processes, or a scripted
//! stand-in in tests), [`verdict`] says whether a run counts.

pub mod campaign;
pub mod runner;
pub mod sample;
pub mod schedule;
pub mod verdict;

pub use campaign::{Campaign, Outcome, Progress, Subject, SwitchError};
pub use runner::{Runner, Tracees};
pub use sample::{Counts, Phases, Rejected, Sample, Series, Untraced};
pub use schedule::Budget;
