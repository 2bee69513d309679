//! Starts one program as a tracee: vfork semantics, stdio, signals, affinity, timeouts, peak memory.

mod exit_status;

pub use exit_status::ExitStatus;
