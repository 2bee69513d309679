//! Charts as SVG, and as PNG with the feature `png`.

pub mod charts;
pub mod floor;
pub mod palette;
pub mod plots;
pub mod png;
pub mod throughput;
