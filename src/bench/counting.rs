//! Runs apart from the timed ones, in which things are counted: they must come out right all the same.

use super::campaign::{TRIES, one_line};
use super::verdict;
use crate::launch::{ExitStatus, LaunchError};
use crate::tracer::Recording;

/// Why there is no count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncounted {
    /// We were interrupted.
    Interrupted,
    /// No run came out as the timed runs do: why the last did not, one lower-case line.
    Because(String),
}

/// Makes counting runs until one ends as `expected`, with the right output and no event lost, as often as the timed
/// runs are tried; what it counted.
pub fn counted<T>(
    expected: Option<ExitStatus>,
    mut run: impl FnMut() -> Result<(T, Recording), LaunchError>,
) -> Result<T, Uncounted> {
    let mut reason = String::new();
    for _ in 0..TRIES {
        reason = match run() {
            Err(LaunchError::Interrupted) => return Err(Uncounted::Interrupted),
            Err(error) => one_line(&error.to_string()),
            Ok((counts, recording)) => match verdict::flaw(&recording, expected) {
                None => return Ok(counts),
                Some(flaw) => flaw,
            },
        };
    }
    Err(Uncounted::Because(reason))
}
