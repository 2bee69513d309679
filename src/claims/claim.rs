//! One statement of a post, and how it is checked.

use super::limit_check::LimitCheck;
use super::post::Post;

/// One statement of a post.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Unique; begins with the post's number.
    pub id: &'static str,
    pub post: Post,
    /// What the post says, in its words, or in ours where those do not fit one line. It is never shown as a quotation.
    pub text: &'static str,
    /// The post's figures; may be empty.
    pub figure: &'static str,
    /// How the statement is measured here, and where that differs from the post's way.
    pub how: &'static str,
    /// When the statement holds, in words; the numbers are in the checks.
    pub rule: &'static str,
    /// The claim holds if all of them are met. Empty: no machine of this kind can test it.
    pub checks: Vec<LimitCheck>,
    /// The explanation where the claim holds.
    pub holds: &'static str,
    /// The explanation where it does not hold; for a claim without checks, why it has none.
    pub fails: &'static str,
}
