//! The BPF backend: raw tracepoints, one ring buffer, filtered in the kernel.
//!
//! `phases.bpf.c` is the kernel side, and [`phases_session`] is the memory that both sides share. [`BpfPhases`] attaches the
//! programs once and observes one run per call.

mod attach;
#[cfg(test)]
mod c_header;
mod event_costs;
mod full;
mod full_records;
mod full_session;
mod meaning_table;
mod phases;
mod phases_session;
mod record;
mod ring_drain;
mod shared_run;
mod survivors;

pub use attach::{AttachError, Kept};
pub use full::{BpfFull, LARGE_RING};
pub use phases::{BpfPhases, DEFAULT_RING};
