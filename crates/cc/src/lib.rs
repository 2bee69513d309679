#![doc = include_str!("../README.md")]
//!
//! These are the steps of a compilation:
//!
//! | step | module |
//! |---|---|
//! | parse the arguments | [`arguments`] |
//! | refuse options that the runtime cannot support | `refused` |
//! | find the compiler for an architecture | [`compiler`] |
//! | take the runtime's sources, embedded or from a folder | [`sources`] |
//! | build the archive, once for each compiler | [`archive`] |
//! | add the flags | [`flags`] |
//! | run the command | [`driver`] |
//!
//! Two crates of the same workspace define concepts that this one shares with others: `firstbyte-elf` the
//! architectures, because `--target` here and `--arch` there take the same names; `firstbyte-cache` the user's cache
//! folder, with its locks and complete or absent entries.

pub mod archive;
pub mod arguments;
pub mod compiler;
pub mod driver;
pub mod error;
pub mod flags;
mod refused;
pub mod sources;

pub use arguments::{Arguments, PrintRequest};
pub use compiler::Compiler;
pub use driver::Driver;
pub use error::RuntimeError;
pub use sources::Sources;
