//! What a sampler hears of the stops of a tree.

use super::task_tree::Task;
use super::tracee::TracedThread;
use crate::units::Nanos;

/// Samples the threads of a tree. Each call is made while the thread that it names is stopped.
pub(crate) trait SampleStops: Send {
    /// The process executes another program, in this thread alone.
    fn executed(&mut self, task: Task);

    /// A process has created another one.
    fn forked(&mut self, parent: i32, child: i32);

    /// A process exists that nobody has announced yet, because a thread of its parent is gone. [`SampleStops::forked`] may
    /// follow.
    fn adopted(&mut self, child: i32);

    /// A thread is about to execute its first instruction, or a group stop of it has ended.
    fn began(&mut self, task: Task);

    /// The event that the sampler opened has interrupted user code.
    fn sampled(&mut self, at: Nanos, task: Task, tracee: TracedThread);

    /// A thread is gone.
    fn gone(&mut self, task: Task);
}
