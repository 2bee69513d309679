//! Starts one program and observes it: phases, system calls, page faults, files, processes.
//!
//! Data flows one way:
//!
//! | step | module | what it does |
//! |---|---|---|
//! | launch | [`launch`], [`page_cache`] | starts one program as a tracee, in a known state, and waits for it |
//! | events | [`tracer`] | three backends, one event vocabulary, one [`tracer::Recording`] |
//! | timeline | [`timeline`] | turns events into phases and instants; pure |
//!
//! Besides these there are [`counters`] (hardware counters), [`counts`] (the deterministic tier), [`machine`] (facts about this
//! machine), [`clock`] and [`units`]. Modules that are hidden here belong to the `firstbyte` command.
//!
//! [`Starts`] takes these steps in one call. By hand, a run takes a [`launch::Launcher`] for a command, a tracer from
//! [`tracer::phases::choose_phases`], and [`timeline::Timeline::of`] for its recording.
//!
//! Some functions change the whole process, and are meant for the `firstbyte` command: those of [`launch::interrupt`],
//! [`launch::tree::adopt_orphans`] and [`page_cache::namespace::enter`].

#[doc(hidden)]
pub mod allocation;
#[doc(hidden)]
pub mod arch;
pub mod clock;
#[doc(hidden)]
pub mod confinement;
pub mod counters;
pub mod counts;
pub mod launch;
pub mod machine;
#[doc(hidden)]
pub mod own_folder;
pub mod page_cache;
#[doc(hidden)]
pub mod regular_file;
#[doc(hidden)]
pub mod sampler;
pub mod start;
pub mod timeline;
pub mod tracer;
pub mod units;

pub use counts::Counts;
pub use start::{StartError, Starts};

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
