//! One start-up, explained: every nanosecond of the tracee's main thread, and what its other threads and processes did.
//! Pure, but for the executables that [`binaries`] reads.
//!
//! [`Account::of`] folds one recording of the full mode into [`Step`]s. Their own times sum up to the total exactly.

mod address_space;
pub mod align;
mod apply;
pub mod attribution;
pub mod binaries;
pub mod call_text;
mod descriptors;
pub mod difference;
pub mod files;
pub mod findings;
pub mod model;
mod page_size;
pub mod partition;
mod process;
mod reading;
pub mod recorded;
pub mod searches;
pub mod step;
pub mod summary;
mod thread;

pub use files::FileAccount;
pub use model::{Account, Execution, ProcessAccount, ThreadAccount};
pub use searches::Search;
pub use step::{Code, ExecStage, Module, PageFault, Reason, Region, Role, Step, What};
pub use summary::Summary;
