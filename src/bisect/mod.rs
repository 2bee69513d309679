//! What `firstbyte bisect` searches: the commits between a good and a bad one.
//!
//! | file | what it does |
//! |---|---|
//! | [`repository`] | commits in working trees of their own, and the search, by git |
//! | [`judgement`] | what tells the bad commit from the good one, and on which side another commit is: pure |

pub mod judgement;
pub mod repository;

pub use judgement::{Boundary, Quantity, Side};
pub use repository::{Commit, Found, Repository, Tree};
