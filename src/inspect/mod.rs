//! What an executable will cost, told without running it. Pure: bytes and a view of the file system in, facts out.
//!
//! [`file`] tells what a file is; [`libraries`] finds the libraries that it needs as the dynamic loader will;
//! [`prediction`] counts the system calls and page faults that its start takes; [`disassembly`] shows what a
//! compiler made of a function.

pub mod compilations;
pub mod disassembly;
pub mod dynamic;
pub mod error;
pub mod file;
pub mod headers;
mod identification;
pub mod kind;
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
pub use view::{Files, MachineFiles};
