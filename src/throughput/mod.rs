//! Many lines to one target: how fast they are printed, and what limits it.
//!
//! [`lines`] is our own writer, a tool by itself. [`design`] lists the other ways to print lines: the programs of Response
//! to Response, as published and fixed, and those that people usually use. [`sink`] is what they print to. [`run`] times
//! one design once, [`sweep`] times all of them, interleaved, and [`measured`] makes the document.

pub mod design;
pub mod lines;
pub mod measured;
pub mod run;
pub mod sink;
pub mod sweep;
