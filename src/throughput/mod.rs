//! Many lines to one target: how fast they are printed, and what limits it.
//!
//! [`lines`] is our own writer, a tool by itself. [`design`] lists the other ways to print lines: the programs of Response
//! to Response, as published and fixed, and those that people usually use. [`sink`] is what they print to. [`design_run`] times
//! one design once, [`sweep`] times all of them, interleaved, and [`measured_designs`] makes the document. [`post`] is the
//! post's own table.

pub mod design;
pub mod design_run;
pub mod lines;
pub mod measured_designs;
pub mod post;
pub mod sink;
pub mod sweep;
