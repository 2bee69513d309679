//! The start-up cost of an executable, without running it: bytes and a view of the file system in, facts out. Only
//! [`compilations`] starts a program: the compiler, whose results it compares.
//!
//! [`file`] finds out what a file is, and [`headers`] reads an ELF file. [`script`] reads a hashbang line, [`launcher`] the
//! arguments of programs that start others, [`runtime`] recognises a language's runtime. [`libraries`] loads the libraries,
//! as [`glibc`] and [`musl`] do. [`code`] follows the instructions, and [`disassembly`] shows them. [`prediction`] counts the
//! system calls and page faults of a start ([`touched`], [`faults`]).

mod code;
pub mod compilations;
pub mod disassembly;
pub mod dynamic;
pub mod error;
mod faults;
pub mod file;
pub mod file_kind;
mod glibc;
pub mod headers;
mod identification;
mod launcher;
pub mod ld_cache;
mod libraries;
pub mod library;
mod musl;
pub mod prediction;
mod processor;
mod relocated;
pub mod relocations;
pub mod runtime;
pub mod script;
mod stack;
mod start_files;
mod started;
pub mod surroundings;
mod symbol_versions;
mod symbols;
mod texts;
mod touched;
pub mod view;

pub use error::InspectError;
pub use file::{Inspection, inspect};
pub use surroundings::{Environment, Surroundings};
pub use symbols::needs_symbol;
pub use view::{FileView, MachineFiles};
