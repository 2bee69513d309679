//! Budgets: what programs may cost, as `firstbyte.toml` says, and whether they keep to it.
//!
//! [`file`](mod@file) reads and writes the file, [`judge`](mod@judge) sets what was measured against it. Pure but for
//! reading and writing.

pub mod file;
pub mod judge;
mod value;

pub use file::{BudgetError, Program, read};
pub use judge::{Judged, Outcome, judge};
pub use value::{AtMost, Limit, Size};
