//! One start-up, explained: every nanosecond of the tracee's main thread, and what its other threads and processes did.
//! Pure, except that [`binaries`] reads executables.
//!
//! [`Account::of`] turns a recording of every event into [`Step`]s, whose own times sum to the total exactly:
//! `construct` is its beginning, `reading` follows each `process` and `thread` through the events, `apply` gives each event
//! its effect on descriptors and the `address_space`, `files` and `searches` sort the steps by file.
//! `correction` takes the time of the observation off the recordings before.
//! [`TraceAnalysis`] has the runs of one command with their summary, [`notes`] says what a reader must know of them.

mod address_space;
pub mod align;
mod announced;
mod apply;
pub mod attribution;
pub mod behind_env;
pub mod binaries;
pub mod call_text;
mod call_values;
mod construct;
mod contents;
pub mod correction;
mod counterparts;
pub mod critical_path;
pub mod debug_files;
mod descriptors;
pub mod diff_document;
pub mod difference;
mod event_loops;
mod executions;
mod files;
pub mod finding_changes;
pub mod findings;
mod inferred_wakes;
pub mod libraries;
pub mod loads;
mod model;
pub mod named_spans;
pub mod notes;
mod page_size;
pub mod partition;
mod pipes;
mod process;
pub mod processor_time;
pub mod profile;
mod reading;
pub mod recorded;
pub mod runs;
mod searches;
mod signed_returns;
mod source_lines;
pub mod started;
mod step;
mod step_times;
mod structures;
pub mod summary;
mod symbols;
pub mod taken;
#[cfg(test)]
mod tests;
mod thread;
pub mod trace_analysis;
pub mod trace_document;
mod unnamed_parts;
pub mod user_code;
pub mod user_times;
mod wakers;

pub use executions::Executions;
pub use model::{Account, Execution, FileAccount, FileSearch, PathPiece, ProcessAccount, ThreadAccount};
pub use step::{Code, CodeOrigin, ExecStage, PageFault, Reason, Region, Role, Step, What};
pub use summary::Summary;
pub use trace_analysis::TraceAnalysis;
