//! What five published posts (the seeds) say about starting programs, each statement checked on this machine. Pure.
//!
//! A [`claim::Claim`] is one entry of a table ([`seed_000`] … [`seed_004`]): the words, the figure, how it is measured
//! here, and the [`check::Check`]s that judge it: expressions of [`quantity::Quantity`]s that must lie within limits.
//! What has to be measured follows from the quantities ([`needs`]); what was measured becomes [`evidence::Evidence`]
//! ([`gather`]), shared by all claims; [`judge`] gives each its verdict.

pub mod check;
pub mod claim;
pub mod evidence;
pub mod gather;
pub mod judge;
pub mod needs;
pub mod programs;
pub mod quantity;
mod seed_000;
mod seed_001;
mod seed_002;
mod seed_003;
mod seed_004;

pub use claim::{Claim, Seed, all};
pub use evidence::{Evidence, Lack, Reading};
pub use judge::{Judgement, Verdict, judge};
pub use needs::Needs;
