//! The BPF backend: raw tracepoints, one ring buffer, filtered in the kernel.
//!
//! `phases.bpf.c` is the kernel side; [`session`] is the memory that the two sides share; [`PhasesTracer`] attaches the
//! programs once and observes one run a call.

mod meaning;
mod phases;
mod session;

pub use phases::{AttachError, DEFAULT_RING, PhasesTracer};
