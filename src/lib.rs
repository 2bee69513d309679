//! firstbyte accounts for every microsecond between a program's `execve` and its first byte of output, and
//! then until it has exited.

// This library serves the package's own binary and tests: a comment is for what the name does not say.
// The crates in `crates/`, which others may use, document every public item.
#![allow(missing_docs)]

pub mod analysis;
pub mod bench;
pub mod bisect;
pub mod budget;
pub mod claims;
pub mod cli;
pub mod commands;
pub mod comparison;
pub mod corpus;
pub mod doctor;
pub mod document;
pub mod floor;
pub mod inspect;
pub mod output;
pub mod prometheus;
pub mod report;
pub mod stats;
pub mod throughput;
pub mod tracing;
pub mod tune;
pub mod watch;
