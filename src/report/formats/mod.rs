//! Files for other tools.

pub mod asciidoc;
pub mod bencher;
pub mod benchmark_action;
pub mod claims_markdown;
pub mod csv;
pub mod firefox;
pub mod floor_markdown;
pub mod json;
pub mod markdown;
pub mod perfetto;
