//! Schedules runs, launches them in turn, collects samples into series.
//!
//! [`schedule`] decides the order, [`campaign`] carries it out through a [`Runner`] (real processes, or a scripted
//! stand-in in tests), [`prepared`] does what belongs around a run, [`verdict`] says whether it counts, [`adaptive`] whether
//! there are enough.

pub mod adaptive;
pub mod campaign;
pub mod counting;
pub mod document;
pub mod prepared;
pub mod runner;
pub mod sample;
pub mod schedule;
pub mod verdict;

pub use adaptive::{Adaptive, Finish};
pub use campaign::{Campaign, Outcome, Progress, Subject};
pub use prepared::{Around, ColdMethod, Prepared};
pub use runner::{Runner, SwitchError, Tracees};
pub use sample::{Printed, Rejected, Sample, Series, Untraced};
pub use schedule::Budget;
