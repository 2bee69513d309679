//! The BPF backend: raw tracepoints, one ring buffer, filtered in the kernel.
//!
//! Each mode has a program for the kernel, a loader that attaches it, and the memory that both sides share. Phases and full
//! observe one run per call; watch observes all programs of a tree or of the machine until it is dropped.
//!
//! | mode | kernel side | loader | shared memory |
//! |---|---|---|---|
//! | phases | `phases.bpf.c`, `phases_session.h` | [`BpfPhases`] | `phases_session` |
//! | full | `full.bpf.c`, `full*.h` | [`BpfFull`], `full_hooks` | `full_session`, `full_records` |
//! | watch | `watch.bpf.c`, `watch_*.h` | [`BpfWatch`] | `watch_session`, `watch_records` |
//!
//! [`BpfStarts`] makes programs that others start the runs of the full mode, by `full_starts.h`.
//!
//! `run.h` and `shared_run` are the part of that memory that all modes have.

mod attach;
mod bare_loader;
#[cfg(test)]
mod c_header;
mod event_costs;
mod family;
mod full;
mod full_hooks;
mod full_records;
mod full_session;
#[cfg(fuzzing)]
pub mod fuzzed;
mod ids;
mod kernel_types;
mod killed_calls;
mod meaning_table;
mod namespace;
mod owner;
mod phases;
mod phases_session;
mod record;
mod ring_drain;
mod run_counts;
pub(crate) mod samples;
pub(crate) mod samples_session;
mod scope;
mod shared_run;
mod skipped;
mod starts;
mod survivors;
mod watch;
mod watch_hooks;
mod watch_records;
mod watch_session;

pub use attach::{AttachError, Kept};
pub use full::{BpfFull, LARGE_RING};
pub use phases::{BpfPhases, DEFAULT_RING};
pub use starts::BpfStarts;
pub use watch::BpfWatch;
