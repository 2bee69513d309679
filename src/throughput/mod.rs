//! Many lines to one target: how fast, and what limits it.
//!
//! [`lines`] is our own writer, a tool by itself. [`design`] holds the other ways to print them: seed 002's programs,
//! literal and mended, and what people would use. [`sink`] is what they print to, [`run`] times one of them once, and
//! [`sweep`] all of them in turn.

pub mod design;
pub mod lines;
pub mod run;
pub mod sink;
pub mod sweep;
