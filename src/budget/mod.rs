//! Budgets: what programs may cost, as `firstbyte.toml` says, and whether they stay within it.
//!
//! [`budget_file`] reads and writes the file, [`judge`](mod@judge) compares a measurement with it, [`conditions`] finds what is
//! not as it was when the file was written, and [`check`](mod@check) makes the document with the outcome of all programs.

pub mod budget_file;
pub mod check;
pub mod conditions;
mod executables;
pub mod judge;
mod value;

pub use budget_file::{BudgetError, BudgetFile, ProgramBudget, read};
pub use check::check;
pub use judge::judge;
pub use value::{AtMost, Limit, Size};
