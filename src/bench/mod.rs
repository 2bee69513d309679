//! Schedules runs, launches them in turn, collects samples into series.

pub mod sample;

pub use sample::{Counts, Phases, Rejected, Sample, Series};
