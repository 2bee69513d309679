//! What the code of a program can reach, followed from its entry point: the fewest and the most system calls, and the pages
//! that it touches.
//!
//! [`walk`] executes instructions with values that may be unknown ([`state`]), and follows both ways where a condition is. It
//! stops at the first thing that it cannot know: a library function that [`functions`] does not describe, or a jump to an
//! unknown place. What was counted until then is a minimum. [`image`] is the memory that the file fills.

mod cursor;
mod execute;
mod flags;
mod functions;
pub(super) mod image;
mod kernel;
mod state;
pub(super) mod walk;
mod words;
