//! The BPF backend: raw tracepoints, one ring buffer, filtered in the kernel.
//!
//! `phases.bpf.c` is the kernel side; [`session`] is the memory that the two sides share; [`PhasesTracer`] attaches the
//! programs once and observes one run a call.

mod calibration;
mod full;
mod full_records;
mod full_session;
#[cfg(test)]
mod header;
mod meaning;
mod phases;
mod record;
mod ring_drain;
mod run;
mod session;

pub use full::{FullTracer, LARGE_RING};
pub use phases::{AttachError, DEFAULT_RING, PhasesTracer};
