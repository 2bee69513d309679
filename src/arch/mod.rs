//! What differs between architectures: system-call numbers by meaning, ABIs.

pub mod output_calls;

pub use output_calls::{Meaning, meanings};
