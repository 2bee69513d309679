//! The versioned documents that firstbyte writes and reads. Every struct that is written is the one that is read.

pub mod bench;
pub mod claims;
pub mod comparison;
pub mod conditions;
pub mod diff;
mod distribution;
pub mod doctor;
pub mod elf;
pub mod floor;
mod head;
pub mod inspect;
pub mod kind;
mod median_counts;
pub mod read;
pub mod series;
pub mod throughput;
pub mod trace;
pub mod warnings;

pub use bench::Document;
pub use kind::Kind;
