//! One self-contained HTML page of documents: it measures nothing and fetches nothing.
//!
//! [`source`] reads the documents, the module of each section makes [`block`]s of them (prose, tables, pictures,
//! timelines), `markup` writes the blocks, and [`page`] puts them together. What the page's scripts draw is compressed by
//! [`packed`]. The pictures are those of [`super::pictures`].
//!
//! Names, arguments and messages in documents may be hostile. `markup` escapes them, and the scripts set text, never
//! markup. The content security policy allows only the page's own scripts, by their hashes, and no connections, so markup
//! that slipped through would not run.

mod about;
mod answer;
mod bars;
mod block;
mod budgets;
mod claims;
mod compared;
mod diff;
mod difference;
pub(crate) mod distributions;
mod elf;
mod floor;
mod forest;
mod icicle;
pub mod machines;
mod markup;
mod packed;
mod page;
mod programs;
mod programs_answer;
pub mod source;
mod throughput;
mod timeline;
mod together;
mod trace_answer;
mod tune;
mod watch;

pub use page::{of_json, of_trace, render};
pub use source::PageSource;
pub use together::Together;
