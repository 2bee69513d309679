//! The event vocabulary that every backend produces and everything else reads.

mod content;
mod full;
mod mark;

pub use content::{Content, WantedContents};
pub(super) use full::auxiliary_vector;
pub(crate) use full::is_restart;
pub use full::{Call, Fault, Image, OffCpu, OnProcessor};
pub use mark::{MarkKind, MarkPath};

use crate::arch::Syscall;
use crate::launch::until::Sign;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Something that happened at one instant in the tracee's process tree, or that we saw from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When it happened, by `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// Process (thread group) id; 0 for our own actions.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// We are about to create the tracee's process.
    Spawn,
    /// A thread entered `execve` or `execveat`.
    ExecEnter,
    /// The kernel is about to prepare the new image (tracepoint `sched_prepare_exec`, Linux 6.10 and later).
    ExecPrepare,
    /// The old image is gone, and the new one is being set up (tracepoint `sched_process_exec`).
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
        /// The call.
        call: Syscall,
    },
    /// A call that may write output returned.
    OutputExit {
        /// The call.
        call: Syscall,
        /// Bytes written, or a negative errno.
        result: i64,
    },
    /// The last successful write of output of the run returned. The event sums up all of them.
    OutputLast {
        /// Number of successful writes of output.
        writes: u64,
        /// Bytes that they wrote.
        bytes: u64,
    },
    /// A call failed that looks up this path, which begins as a mark does (see `timeline::marks`). The event's instant is
    /// the call's entry. In full mode it is a [`Call`].
    Mark(Content),
    /// Only with ptrace: a thread set up an `io_uring`. Writes through it are not seen.
    Ring,
    /// The event's thread created a thread or a process.
    Fork {
        /// The child's process id. If the child is a thread, it is that of its creator.
        child_pid: u32,
        /// The child's thread id.
        child_tid: u32,
    },
    /// A thread exited (tracepoint `sched_process_exit`, or the ptrace exit stop).
    Exit {
        /// Whether it was the last thread of its process.
        group_dead: bool,
        /// The wait status that the kernel keeps for it: `exit_code << 8`, or a signal number.
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
    /// Full mode: a signal was sent to the event's thread, or to its process. With ptrace: it is about to be delivered, and
    /// SIGKILL is not seen.
    Signalled {
        /// Its number.
        signal: i32,
    },
    /// A process is dead. Its memory and files are released, and its parent has its SIGCHLD (`exit_notify` in
    /// kernel/exit.c; with ptrace: when wait4 reports its death).
    ParentTold,
    /// Only with ptrace: a tracee that had stood still since the event before could go on.
    Resumed,
    /// The first bytes arrived at the reading end of the tracee's stdout.
    FirstRead {
        /// How many bytes came with the first read.
        bytes: u64,
    },
    /// The moment that ends the run has come: its output arrived at the reading end, or something listens on the port.
    /// What follows is not part of the run.
    Reached {
        /// What showed it; `None` in recordings of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sign: Option<Sign>,
    },
    /// We reaped the tracee.
    Reaped {
        /// The raw wait status.
        status: i32,
    },
}
