//! Backends that observe one run and produce one event vocabulary.
//!
//! [`event`] is the vocabulary, [`recording`] what one run's observation amounts to.

pub mod event;
pub mod probe;
pub mod recording;

pub use event::{Abi, Event, EventKind, Syscall};
pub use recording::{Backend, Output, Recording};
