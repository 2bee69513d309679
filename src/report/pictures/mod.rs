//! Charts as SVG and PNG.

pub mod charts;
pub mod floor;
pub mod palette;
pub mod plots;
pub mod png;
pub mod throughput;
