//! Budgets: what programs may cost, as `firstbyte.toml` says, and whether they stay within it.
//!
//! [`budget_file`] reads and writes the file, [`judge`](mod@judge) compares a measurement with it, and [`Checked`] has the
//! outcome of all programs.

pub mod budget_file;
mod checked;
pub mod judge;
mod value;

pub use budget_file::{BudgetError, ProgramBudget, read};
pub use checked::{Checked, CheckedProgram};
pub use judge::{BudgetOutcome, Judged, judge};
pub use value::{AtMost, Limit, Size};
