//! The freestanding C runtime (`runtime/`), embedded, and the driver that compiles C against it.
//!
//! | step | module |
//! |---|---|
//! | which of the arguments are ours, what the compiler is asked for | [`arguments`] |
//! | the compiler for an architecture | [`compiler`] |
//! | the runtime's sources, here or embedded | [`sources`] |
//! | its archive, built once for each compiler | [`archive`] |
//! | options that cannot be had, and why | `refused` |
//! | the flags | [`flags`] |
//! | the command that is run in the end | [`driver`] |

pub mod archive;
pub mod arguments;
pub mod compiler;
pub mod driver;
pub mod error;
pub mod flags;
mod refused;
pub mod sources;

pub use arguments::{Arguments, Printed};
pub use compiler::Compiler;
pub use driver::Driver;
pub use error::RuntimeError;
pub use sources::Sources;
