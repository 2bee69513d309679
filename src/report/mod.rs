//! Renderings of documents, by medium. Renderers return text or bytes and never print.

pub mod formats;
pub mod html;
pub(crate) mod metrics;
pub(crate) mod palette;
mod phase_row;
pub mod pictures;
pub(crate) mod row;
pub mod text;
pub(crate) mod words;
