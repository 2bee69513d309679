//! Budgets: what programs may cost, as `firstbyte.toml` says, and whether they stay within it.
//!
//! [`file`](mod@file) reads and writes the file, [`judge`](mod@judge) compares measurements with it.

pub mod file;
pub mod judge;
mod value;

pub use file::{BudgetError, ProgramBudget, read};
pub use judge::{BudgetOutcome, Judged, judge};
pub use value::{AtMost, Limit, Size};
