//! Starts one program and observes it: phases, system calls, page faults, files, processes.
//!
//! Data flows one way:
//!
//! | step | module | what it does |
//! |---|---|---|
//! | launch | [`launch`], [`page_cache`] | starts one program as a tracee, in a known state, and waits for it |
//! | events | [`tracer`] | three backends, one event vocabulary, one [`tracer::Recording`] |
//! | timeline | [`timeline`] | pure: events in, phases and instants out |
//!
//! Beside them: [`counters`] (hardware counters), [`counts`] (the deterministic tier), [`arch`] (the differences
//! between processors), [`machine`] (facts about this machine) and [`units`].

pub mod arch;
pub mod clock;
pub mod counters;
pub mod counts;
pub mod launch;
pub mod machine;
pub mod page_cache;
pub mod timeline;
pub mod tracer;
pub mod units;

pub use counts::Counts;
