//! The start-up cost of an executable, without running it: bytes and a view of the file system in, facts out. Only
//! [`compilations`] starts a program: the compiler, whose results it compares.
//!
//! [`file`] finds out what a file is, and [`headers`] reads an ELF file. [`libraries`] finds the libraries that it needs, as
//! the dynamic loader will. [`prediction`] counts the system calls and page faults of its start. [`disassembly`] shows the
//! instructions of a function. [`script`] reads a hashbang line, [`runtime`] recognises a language's runtime.

pub mod compilations;
pub mod disassembly;
pub mod dynamic;
pub mod error;
pub mod file;
pub mod file_kind;
pub mod headers;
mod identification;
pub mod ld_cache;
pub mod libraries;
pub mod prediction;
pub mod relocations;
pub mod runtime;
pub mod script;
mod symbols;
pub mod view;

pub use error::InspectError;
pub use file::{Inspection, inspect};
pub use symbols::needs_symbol;
pub use view::{FileView, MachineFiles};
