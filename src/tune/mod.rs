//! Other ways to start a program: which ones there are for it, whether they do the same, and which are proven to be faster.
//!
//! | file | what it does |
//! |---|---|
//! | [`plan`] | what is to be tuned, how, and for how long |
//! | [`catalogue`], [`version`] | reads the variants: one small file a runtime, of ours and of the user |
//! | [`start`] | what is known of how the program starts |
//! | [`choosing`], [`candidate`] | the variants that make sense for it, and what each changes |
//! | [`shell_lines`] | which lines of a shell's start-up files cost most: pure |
//! | [`selection`] | those of them that the user wants: pure |
//! | [`way`] | the command with the changes of a variant, to be run and to be pasted: pure |
//! | `preparation` | that the command may be run often, how it starts, and which ways do the same |
//! | [`outcome`] | what one run did, compared with another one |
//! | [`folder_state`] | which files of the working directory a run changes |
//! | `course` | the experiment, in the time that there is |
//! | `measuring` | ways in alternating runs |
//! | [`combination`] | which variants are tried together: pure |
//! | [`judgement`] | which ways are proven to be faster: pure |
//! | `results` | the document |

pub mod candidate;
pub mod catalogue;
pub mod choosing;
pub mod combination;
mod course;
mod error;
pub mod folder_state;
pub mod judgement;
mod measuring;
pub mod outcome;
pub mod plan;
mod preparation;
mod results;
pub mod selection;
pub mod shell_lines;
pub mod start;
pub mod version;
pub mod way;

pub use candidate::Candidate;
pub use choosing::{Untried, candidates, remedies};
pub use error::TuneError;
pub use folder_state::FolderState;
pub use judgement::{Judged, Pair, judged};
pub use outcome::{Comparing, Outcome};
pub use plan::{TunePlan, TuneProgress};
pub use start::Start;
pub use way::Way;

use crate::document::tune::TuneDocument;
use catalogue::Runtime;
use course::Course;

/// Tries the ways of a catalogue. The process must be ready to launch programs. What an interruption cuts off is left out.
pub fn tune(
    plan: &TunePlan,
    catalogue: &[Runtime],
    progress: &mut dyn TuneProgress,
) -> Result<TuneDocument, TuneError> {
    let mut course = Course::new(plan, catalogue, progress)?;
    let found = course.go()?;
    Ok(course.document(found))
}
