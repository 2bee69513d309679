//! Statistics of samples: pure functions of slices of floats, every formula with its source.
//!
//! [`Statistics`] describes one sample set, [`bootstrap`] says how sure its median is, [`comparing`] judges two of
//! them, [`significance`] judges many at once, [`outlier`] names the values that stand apart. [`LogHistogram`] describes more values than can be kept. Whatever
//! is returned is finite: sets that are empty or that hold a NaN or an infinity have no statistics, and the answer is
//! `None`.

mod blocks;
pub mod bootstrap;
pub mod comparing;
mod draws;
pub mod log_histogram;
pub mod order;
pub mod outlier;
pub mod quantile;
pub mod significance;
pub mod statistics;

pub use bootstrap::{Bootstrap, Interval};
pub use comparing::{Comparison, Verdict, judge, judge_unpaired, paired};
pub use log_histogram::LogHistogram;
pub use quantile::{median, median_count, median_of, quantile};
pub use statistics::{Statistics, mean_of};
