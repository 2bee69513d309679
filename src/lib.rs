//! firstbyte accounts for every microsecond between a program's `execve` and its first byte of output, and
//! then until it has exited.

pub mod account;
pub mod bench;
pub mod budget;
pub mod claims;
pub mod cli;
pub mod commands;
pub mod corpus;
pub mod doctor;
pub mod document;
pub mod floor;
pub mod inspect;
pub mod output;
pub mod report;
pub mod stats;
pub mod throughput;
