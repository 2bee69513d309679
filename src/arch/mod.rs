//! What differs between architectures: system-call numbers by meaning, ABIs.

pub mod file_calls;
pub mod output_calls;

pub use file_calls::{FileCall, file_calls};
pub use output_calls::{Meaning, meanings};
