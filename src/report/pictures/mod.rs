//! Charts as SVG, and as PNG with the feature `png`.

pub mod charts;
pub mod floor;
pub mod patterns;
pub mod plots;
pub mod png;
pub mod throughput;
