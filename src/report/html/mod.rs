//! One self-contained HTML page of documents: nothing is measured, nothing is fetched.
//!
//! [`source`] tells what a document is, each section's module makes [`block`]s of it (prose, tables, pictures,
//! timelines), and [`page`] puts them into the template. What the page's scripts draw by themselves is handed to them
//! by [`packed`], compressed. The pictures come from [`charts`] and from the modules that draw them for files, so that
//! [`plots`] writes the same ones.
//!
//! Names, arguments and messages in documents are foreign text. The template escapes what it is given, the scripts
//! set text and never markup, and the page's content security policy allows the page's own scripts by their hashes,
//! and no connections at all: what slipped through would not run.

mod block;
mod claims;
mod diff;
pub(crate) mod distributions;
mod elf;
mod floor;
mod head;
mod packed;
mod page;
mod programs;
pub mod source;
mod throughput;
mod timeline;

pub use page::{PageError, of_json, render};
pub use source::Source;
