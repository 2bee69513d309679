//! firstbyte accounts for every microsecond between a program's `execve` and its first byte of output, and
//! then until it has exited.
//!
//! Data flows one way, and the modules are its stations:
//!
//! | station | module | what it does |
//! |---|---|---|
//! | plan | [`cli`] | command line in, validated plan out; no clap type lives below it |
//! | launch | [`launch`], [`page_cache`] | starts one program as a tracee, in a known state, and waits for it |
//! | events | [`tracer`] | three backends, one event vocabulary, one [`tracer::Recording`] |
//! | timeline | [`timeline`] | pure: events in, phases and instants out |
//! | statistics | [`bench`], [`stats`] | schedules runs, collects samples into series, summarises them |
//! | document | [`report::document`] | the versioned result that everything below is drawn from |
//! | rendering | [`report`] | text, JSON, CSV, Markdown, one HTML page |
//!
//! Measure, then compute, then render: a measuring function never prints, a renderer never measures.
//! Beside the flow stand [`budget`] (what programs may cost), [`claims`] (what others said of start-up, judged), [`corpus`] (the programs of the showdown), [`elf`] (our own executables: the floor),
//! [`floor`] (what this machine charges),
//! [`doctor`] (what this machine can do), [`runtime`] (C without a C library), [`cache`] (where builds are kept), [`machine`] (its
//! facts) and [`arch`] (what differs between architectures). [`commands`] joins them, one file a command.

pub mod advice;
pub mod arch;
pub mod bench;
pub mod budget;
pub mod cache;
pub mod claims;
pub mod cli;
pub mod commands;
pub mod corpus;
pub mod doctor;
pub mod elf;
pub mod floor;
pub mod inspect;
pub mod launch;
pub mod machine;
pub mod page_cache;
pub mod report;
pub mod runtime;
pub mod stats;
pub mod throughput;
pub mod timeline;
pub mod trace;
pub mod tracer;
pub mod units;
