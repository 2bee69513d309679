//! What the first and the hundredth print of a program cost.

use super::Figure;
use serde::{Deserialize, Serialize};

/// The prints of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Print {
    /// Its name in the corpus.
    pub program: String,
    /// The language and the function that prints: `C printf`.
    pub label: String,
    /// Two readings of the program's own clock with nothing between them: the smallest of a hundred pairs, one value
    /// per run.
    pub clock: Figure,
    /// The first print by the program's own clock, less the cost of the clock.
    pub first: Figure,
    /// The hundredth print.
    pub hundredth: Figure,
    /// The same prints seen by a tracer; `None` if no tracer can see them.
    pub outside: Option<Outside>,
}

/// Prints as a tracer saw them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outside {
    /// The backend. Its overhead is included in the figures.
    pub backend: String,
    /// From the return of the marker's write to the return of the first print's write, less one clock reading.
    pub first: Figure,
    /// From the return of the ninety-ninth print's write to the return of the hundredth's, less two clock readings.
    pub hundredth: Figure,
    /// The system calls of the first print in the last run, in order.
    pub first_calls: Vec<String>,
    /// The system calls of the hundredth print.
    pub hundredth_calls: Vec<String>,
    /// The page faults of the first print in the last run; `None` if the backend does not see them.
    pub first_faults: Option<u64>,
}
