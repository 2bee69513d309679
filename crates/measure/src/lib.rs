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
//! Besides these there are [`sampler`] (which user code ran), [`counters`] (hardware counters), [`counts`] (the deterministic tier), [`arch`] (the
//! differences between processors), [`allocation`], [`machine`] (facts about this machine), [`regular_file`], [`own_folder`], [`clock`] and [`units`].
//!
//! A run takes three steps: a [`launch::Launcher`] for a command, a tracer from [`tracer::phases::choose_phases`], and
//! [`timeline::Timeline::of`] for its recording. `examples/first_byte.rs` is a complete program.
//!
//! Some functions change the whole process, and are meant for the `firstbyte` command: those of [`launch::interrupt`],
//! [`launch::tree::adopt_orphans`] and [`page_cache::namespace::enter`].

pub mod allocation;
pub mod arch;
pub mod clock;
pub mod confinement;
pub mod counters;
pub mod counts;
pub mod launch;
pub mod machine;
pub mod own_folder;
pub mod page_cache;
pub mod regular_file;
pub mod sampler;
pub mod timeline;
pub mod tracer;
pub mod units;

pub use counts::Counts;

/// The example in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
