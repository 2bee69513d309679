//! Full traces of starts that others make: of one program, while a watch runs. Nothing is launched for them.

use super::Recording;
use super::choose::ChooseError;
use super::watch::Scope;
use std::time::Duration;

/// The longest name or path of a program that can be waited for, in bytes.
pub const MAX_PROGRAM_BYTES: usize = 253;

/// Which starts are traced.
#[derive(Clone, Debug)]
pub struct StartsPlan {
    /// As in the calls of `execve`: a whole path, or the name at its end. Of a script, this is that of the script.
    pub program: String,
    /// One start in this many.
    pub every: u64,
    /// The most that is kept of one start, in bytes of the kernel's records.
    pub memory: u64,
    /// The longest that a start is followed.
    pub longest: Duration,
}

/// A start that was traced, from the entry of the `execve` to the end of the process.
#[derive(Clone, Debug)]
pub struct TracedStart {
    /// What was observed. Its launch is the entry of the `execve`, and its reaping the end of the process.
    pub recording: Recording,
    /// Its number among the starts of the program, from 1 on.
    pub number: u64,
    /// It saw the same files as we do: it was in the same mount namespace.
    pub sees_our_files: bool,
    /// The size of the kernel's records, in bytes.
    pub bytes: u64,
}

/// The starts of a program that were traced, and what became of the others.
#[derive(Debug, Default)]
pub struct TracedStarts {
    /// As in [`StartsPlan`].
    pub program: String,
    /// As in [`StartsPlan`].
    pub every: u64,
    /// Those that were traced to their end.
    pub starts: Vec<TracedStart>,
    /// How many there were, while they were counted.
    pub seen: u64,
    /// The longest that a start was followed.
    pub longest: Duration,
    /// Those that did not end within that time.
    pub too_long: u64,
    /// Those that made more events than there was memory for.
    pub too_large: u64,
    /// One had not ended when the watch did.
    pub unfinished: bool,
    /// There was memory for these only, although more were wanted. From then on starts were not counted.
    pub memory_full: bool,
    /// As many were traced as were wanted. From then on starts were not counted.
    pub complete: bool,
}

/// What came of the start that is traced.
#[derive(Debug)]
pub enum Look {
    /// None is traced, or it has not ended.
    Nothing,
    /// The tracer will soon be ready for the next one: look again in a millisecond.
    Soon,
    /// It has ended.
    Ended(Box<TracedStart>),
    /// It has not ended in the longest time, and is not followed any more.
    TooLong,
    /// It has made more events than may be kept, and is not followed any more.
    TooLarge,
}

/// Traces one start after the other, until it is dropped.
pub trait StartTracer: std::fmt::Debug {
    /// Waits for starts by the next process that the calling thread creates, and by all that this process creates.
    fn follow_next_child(&mut self);

    /// Waits for starts by all processes in the scope.
    fn follow(&mut self, scope: Scope);

    /// Call it at least every 20 ms: nothing else makes the tracer ready for the next start.
    fn look(&mut self) -> Look;

    /// A start has begun that has not ended.
    fn is_tracing(&self) -> bool;

    /// How many starts there were until now, traced or not.
    fn seen(&self) -> u64;

    /// Traces no more, and costs no more. Starts are not counted any more either.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    fn stop(&mut self) -> Result<(), ChooseError>;
}
