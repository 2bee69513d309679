//! The BPF backend: raw tracepoints, one ring buffer, filtered in the kernel.
//!
//! Each mode has a program for the kernel, a loader that attaches it once and observes one run per call, and the memory
//! that both sides share:
//!
//! | mode | kernel side | loader | shared memory |
//! |---|---|---|---|
//! | phases | `phases.bpf.c`, `phases_session.h` | [`BpfPhases`] | `phases_session` |
//! | full | `full.bpf.c`, `full*.h` | [`BpfFull`] | `full_session`, `full_records` |
//!
//! `run.h` and `shared_run` are the part of that memory that both modes have.

mod attach;
#[cfg(test)]
mod c_header;
mod event_costs;
mod family;
mod full;
mod full_records;
mod full_session;
#[cfg(fuzzing)]
pub mod fuzzed;
mod ids;
mod meaning_table;
mod namespace;
mod phases;
mod phases_session;
mod record;
mod ring_drain;
mod shared_run;
mod survivors;

pub use attach::{AttachError, Kept};
pub use full::{BpfFull, LARGE_RING};
pub use phases::{BpfPhases, DEFAULT_RING};
