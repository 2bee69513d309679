//! The one event vocabulary that every backend produces and everything else consumes.

mod full;

pub(super) use full::auxiliary_vector;
pub use full::{Call, Fault, Image, OffCpu};

use crate::arch::Syscall;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Something that happened in the tracee's process tree, or that we saw from outside, at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, by `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// Process (thread group) id; 0 where only we were involved.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// We were about to create the tracee's process.
    Spawn,
    /// A thread entered `execve` or `execveat`.
    ExecEnter,
    /// The kernel is about to prepare the new image (tracepoint `sched_prepare_exec`, Linux 6.10 and later).
    ExecPrepare,
    /// The point of no return is behind: the new image is being set up (tracepoint `sched_process_exec`).
    ExecCommit {
        /// The file that is now executed, as the kernel names it.
        path: String,
    },
    /// `execve` returned: into the new image (`result` 0) or with an error (a negative errno).
    ExecExit {
        /// The system call's result.
        result: i64,
    },
    /// A thread entered a system call that may write to the stdout that we gave the tracee.
    OutputEnter {
        /// Which call.
        call: Syscall,
    },
    /// That call returned.
    OutputExit {
        /// Which call.
        call: Syscall,
        /// Bytes written, or a negative errno.
        result: i64,
    },
    /// The last successful write of output of the run returned; what went before it, it sums up.
    OutputLast {
        /// Successful writes of output, this one included.
        writes: u64,
        /// Bytes that they wrote.
        bytes: u64,
    },
    /// With ptrace: a thread set up an `io_uring`. What is written by that is not seen.
    Ring,
    /// A thread or a process was created by the event's thread.
    Fork {
        /// The child's process id; the parent's own where the child is a thread.
        child_pid: u32,
        /// The child's thread id.
        child_tid: u32,
    },
    /// A thread exited (tracepoint `sched_process_exit`, or the ptrace exit stop).
    Exit {
        /// Whether it was the last thread of its process.
        group_dead: bool,
        /// The wait status that the kernel holds for it: `exit_code << 8`, or a signal number.
        status: i32,
    },
    /// Full mode: a system call.
    Call(Box<Call>),
    /// Full mode: a page fault.
    Fault(Box<Fault>),
    /// Full mode: a thread was off the processor until now.
    OffCpu(OffCpu),
    /// Full mode: a new image.
    Image(Box<Image>),
    /// A process is dead: its memory and files are given back, and its parent is told (the SIGCHLD of `exit_notify`,
    /// kernel/exit.c; with ptrace: when we hear of its death).
    ParentTold,
    /// The reading end of the tracee's stdout gave us its first bytes.
    FirstRead {
        /// How many bytes came with the first read.
        bytes: u64,
    },
    /// The reading end of the tracee's stdout gave us what the run was to end at; what follows is no part of it.
    Reached,
    /// We reaped the tracee.
    Reaped {
        /// The raw wait status.
        status: i32,
    },
}
