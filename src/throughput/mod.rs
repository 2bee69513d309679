//! Many lines to one target: how fast, and what limits it.
//!
//! [`lines`] is our own writer, a tool by itself.

pub mod lines;
