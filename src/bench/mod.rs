//! The experiment: programs in, series of samples out.
//!
//! | file | what it does |
//! |---|---|
//! | [`experiment`] | the one experiment of every command that runs programs to time or explain them |
//! | [`schedule`], [`adaptive`] | how many rounds, in which order, in which blocks: pure |
//! | [`campaign`] | carries out the rounds through a [`Runner`]: real processes, or a scripted stand-in in tests |
//! | [`runner`], [`prepared`] | real processes under an observer, and the preparation of each run |
//! | [`RunPlan`] | how each run of the user's commands is made |
//! | [`hooks`], [`hook`] | commands before and after all runs, and the user's shell commands |
//! | [`cold_runs`] | makes the page cache cold |
//! | `residence` | which of a program's files are in memory before a run |
//! | [`captured`] | one untraced run with all that it wrote to stderr |
//! | [`validity`], [`Accepted`] | whether a run counts, and how it may end |
//! | [`sample`] | samples and series |
//! | [`counting`] | runs apart from the timed ones that count system calls, page faults and instructions |
//! | [`processor_time`] | runs apart that tell user code from the kernel's work |
//! | [`interference`] | who else used the processors |
//! | [`named_spans`] | the parts of runs that have a name, over all runs |
//! | [`smallest`] | the smallest program, to compare with |
//! | [`results`] | from series to the entries of a document |
//! | [`plan_warnings`] | warnings about how the way of running affects the figures |

pub mod accepted;
pub mod adaptive;
pub mod campaign;
pub mod captured;
pub mod cold_runs;
pub mod counting;
mod error;
pub mod experiment;
pub mod hook;
pub mod hooks;
mod influences;
pub mod interference;
pub mod named_spans;
pub mod placement;
pub mod plan_warnings;
pub mod prepared;
mod processor_time;
mod residence;
pub mod results;
pub mod run_conditions;
mod run_plan;
pub mod runner;
pub mod sample;
pub mod schedule;
pub mod smallest;
pub mod validity;

pub use crate::document::series::{Finish, Rejected};
pub use accepted::Accepted;
pub use adaptive::Adaptive;
pub use campaign::{Campaign, CampaignEnd, Progress};
pub use error::ExperimentError;
pub use experiment::{Counting, Experiment, ExperimentEntry, Measured};
pub use placement::Placement;
pub use prepared::{ITERATION, RunHooks};
pub use processor_time::ProcessorRuns;
pub use run_plan::{Destination, RunPlan};
pub use runner::{LookForMarks, Tracee};
pub use sample::{BothKinds, Printed, ProcessorTime, RegionTimes, Sample, Series, Untraced};
pub use schedule::{Aim, RunLimit};
