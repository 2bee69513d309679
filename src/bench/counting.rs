//! Runs apart from the timed ones, in which things are counted: they must come out right all the same.

use super::campaign::{TRIES, one_line};
use super::sample::Series;
use super::verdict::{self, TRACED};
use firstbyte_measure::launch::{ExitStatus, LaunchError};
use firstbyte_measure::tracer::{Backend, Recording};

/// Why there is no count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncounted {
    /// We were interrupted.
    Interrupted,
    /// No run came out as the timed runs do: why the last did not, one lower-case line.
    Because(String),
}

/// Makes counting runs until one ends as `series` is to (where that is left to the program: as one of its timed runs
/// did), with the right output and no event lost, as often as the timed runs are tried; what it counted.
pub fn counted<T>(
    series: &Series,
    mut run: impl FnMut() -> Result<(T, Recording), LaunchError>,
) -> Result<T, Uncounted> {
    let mut reason = String::new();
    for _ in 0..TRIES {
        reason = match run() {
            Err(LaunchError::Interrupted) => return Err(Uncounted::Interrupted),
            Err(error) => one_line(&error.to_string()),
            Ok((counts, recording)) => match verdict::flaw(&recording, expected(series, recording.exit)) {
                None => return Ok(counts),
                // the timed runs came out right
                Some(flaw) if recording.backend == Backend::Ptrace => {
                    format!("{flaw}; it was traced, and {TRACED}")
                }
                Some(flaw) => flaw,
            },
        };
    }
    Err(Uncounted::Because(reason))
}

/// How a counting run that ended as `exit` should have: a program that does something else when it is watched, and tells
/// so by its status, is not what was timed.
fn expected(series: &Series, exit: ExitStatus) -> Option<ExitStatus> {
    let timed = || series.samples.iter().map(|sample| sample.exit);
    series.expected.or_else(|| timed().next().filter(|_| timed().all(|end| end != exit)))
}
