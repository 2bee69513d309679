//! What five published posts say about starting programs, each statement checked on this machine.
//!
//! A [`claim::Claim`] is one statement: its words, its figures, how it is measured here, and the
//! [`limit_check::LimitCheck`]s that decide. A check is an expression of [`quantity::Quantity`]s that must lie within
//! limits. There is one file of claims for each post, and [`registry`] has them all.
//!
//! The quantities say what has to be measured ([`needs`]), and [`passes`] measures it. The measurements become
//! [`evidence::ClaimEvidence`] ([`gather`]), which all claims share. [`judge`] gives each claim its verdict, and [`row`] makes
//! it a row of the document.

mod c_runtime_overhead;
pub mod claim;
pub mod claim_programs;
mod claim_row;
pub mod evidence;
pub mod gather;
mod hello_world_overdone;
pub mod judge_readings;
pub mod limit_check;
pub mod needs;
pub mod passes;
mod post;
mod print_benchmark;
pub mod quantity;
pub mod registry;
mod response_to_response;
mod startup_showdown;

pub use claim::Claim;
pub use claim_row::row;
pub use evidence::{ClaimEvidence, Lack, Reading};
pub use judge_readings::{Judgement, judge};
pub use needs::Needs;
pub use post::Post;
pub use registry::{all, select};
