//! Other ways to start a program: which ones there are for it, whether they do the same, and which are proven to be faster.
//!
//! | file | what it does |
//! |---|---|
//! | [`catalogue`], [`version`] | reads the variants: one small file a runtime, of ours and of the user |
//! | [`start`] | what is known of how the program starts |
//! | [`candidate`] | the variants that make sense for it: pure |
//! | [`way`] | the command with the changes of a variant, to be run and to be pasted: pure |
//! | [`outcome`] | what one run did, compared with another one |
//! | [`folder_state`] | which files of the working directory a run changes |
//! | [`combination`] | which variants are tried together: pure |
//! | [`judgement`] | which ways are proven to be faster: pure |

pub mod candidate;
pub mod catalogue;
pub mod combination;
pub mod folder_state;
pub mod judgement;
pub mod outcome;
pub mod start;
pub mod version;
pub mod way;

pub use candidate::{Candidate, Untried, candidates, remedies};
pub use folder_state::FolderState;
pub use judgement::{Judged, Pair, judged};
pub use outcome::{Comparing, Outcome};
pub use start::Start;
pub use way::Way;
