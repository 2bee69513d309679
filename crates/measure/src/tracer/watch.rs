//! What is observed of all programs that a command or a whole machine starts: each from its `execve` to its end.

use super::Backend;
use super::choose::ChooseError;
use crate::launch::{Command, ExitStatus, Foreground, LaunchError};
use crate::units::Nanos;

/// What watches processes until it is dropped.
pub trait Watcher {
    /// Identifies the backend.
    fn backend(&self) -> Backend;

    /// Starts a command in the foreground, and watches it and all that it creates. `stdout_to_stderr`: our stdout is needed
    /// for something else.
    ///
    /// # Errors
    ///
    /// The command cannot be executed, or may not be watched.
    fn start(&mut self, command: &Command, stdout_to_stderr: bool) -> Result<Foreground, LaunchError>;

    /// Watches all processes in the scope, from their next fork or exec on.
    ///
    /// # Errors
    ///
    /// This kernel cannot tell which processes are in the scope.
    fn watch_everyone(&mut self, scope: Scope) -> Result<(), ChooseError>;

    /// What has been observed since the last call. Call it often enough: nothing else empties the kernel's buffer.
    fn take(&mut self) -> Vec<WatchEvent>;

    /// The number of events that were lost: the buffer was full, or there were too many processes.
    fn lost(&self) -> u64;

    /// Why every system call of the machine is slower although nobody asked for the first output; `None` if it is not.
    fn slow_calls(&self) -> Option<&str>;

    /// Whether a process has begun to exit whose end has not been observed yet.
    fn is_one_exiting(&self) -> bool;

    /// Whether there are still processes that cannot go on without the watcher.
    fn is_needed(&self) -> bool;

    /// What has not ended, as [`Ending::Running`].
    fn running(&self) -> Vec<EndedProgram>;
}

/// A program in execution: its process, by the machine's id, and when the process entered the `execve`. The kernel gives a
/// process id away again, but not at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgramRun {
    /// The process.
    pub pid: u32,
    /// The entry of the `execve`.
    pub entered: Nanos,
}

/// One observation. Those of one process come in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// A process executes a program.
    Started(StartedProgram),
    /// A program has ended, or a process that has executed none.
    Ended(EndedProgram),
    /// An `execve` has failed.
    Failed(FailedExec),
    /// A process waits for children that have ended before.
    LateWait(LateWait),
    /// A program has made a mark.
    Marked(MadeMark),
}

/// A process executes a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedProgram {
    /// Which one.
    pub run: ProgramRun,
    /// The program that forked the process, or that the process executed before; `None` if it is not watched.
    pub by: Option<ProgramRun>,
    /// The path that was executed, at most 255 bytes of it.
    pub path: String,
    /// The arguments, as many as fit 4095 bytes.
    pub argv: Vec<String>,
    /// The length of all arguments in bytes, each with its NUL.
    pub argv_bytes: u32,
}

/// A program has ended, or a process that has executed none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedProgram {
    /// The process.
    pub pid: u32,
    /// When it entered the `execve`; `None` for a process that has executed no program.
    pub entered: Option<Nanos>,
    /// As in [`StartedProgram`]. A process that has executed no program is a copy of this one.
    pub by: Option<ProgramRun>,
    /// When the process was forked; `None` if that was before the watch.
    pub forked: Option<Nanos>,
    /// When the `execve` returned in the new program; `None` if it did not.
    pub returned: Option<Nanos>,
    /// When its first write of output returned; `None` if it made none.
    pub first_output: Option<Nanos>,
    /// Its parent waited for the end of the process; `None` if it did not, or if that is not known.
    pub awaited: Option<AwaitedEnd>,
    /// When it ended: when the parent was sent SIGCHLD, or when the process entered its next `execve`.
    pub at: Nanos,
    /// The CPU time of all its threads.
    pub cpu: Nanos,
    /// How it ended.
    pub how: Ending,
}

impl EndedProgram {
    /// The program; `None` for a process that has executed none.
    pub fn run(&self) -> Option<ProgramRun> {
        self.entered.map(|entered| ProgramRun { pid: self.pid, entered })
    }

    /// From the entry of the `execve` to its return; 0 if it did not return.
    pub fn startup(&self) -> Nanos {
        let startup = self.entered.zip(self.returned).and_then(|(entered, returned)| returned.since(entered));
        startup.unwrap_or_default()
    }
}

/// A process: its id, and when it was forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessBirth {
    /// Its id.
    pub pid: u32,
    /// When it was forked.
    pub at: Nanos,
}

/// The end of a process for which its parent waited: the parent slept when the process began to exit, and was woken before the
/// process was gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AwaitedEnd {
    /// The parent.
    pub by: ProcessBirth,
    /// When the process began to exit.
    pub at: Nanos,
    /// The CPU time of the process, if its parent did not sleep then. It waited if there is a [`LateWait`] and it had worked
    /// less than that.
    pub late: Option<Nanos>,
}

/// A process has forked, and now waits for children (`wait(2)`) some of which began to exit while it did not sleep. That is so
/// if it had to wait for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateWait {
    /// The process that waits.
    pub by: ProcessBirth,
    /// When the first of these children began to exit.
    pub since: Nanos,
    /// When it began to wait.
    pub at: Nanos,
    /// How long it had a processor since it last forked.
    pub worked: Nanos,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its process ended.
    Exited(ExitStatus),
    /// Its process executed another program.
    Replaced,
    /// It had not ended when the watch did.
    Running,
}

/// An `execve` that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedExec {
    /// The process that tried it.
    pub pid: u32,
    /// The program that this process executes, or of which it is a copy; `None` if it is not watched.
    pub by: Option<ProgramRun>,
    /// The path that it tried, at most 255 bytes of it.
    pub path: String,
    /// The error number (`errno(3)`).
    pub errno: i32,
    /// From its entry to its return.
    pub took: Nanos,
}

/// A lookup has failed of a path that begins as a mark does (see `timeline::marks`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeMark {
    /// The program that made it, or of which the process is a copy.
    pub by: ProgramRun,
    /// When the lookup was entered.
    pub at: Nanos,
    /// The path, at most 255 bytes of it.
    pub path: Box<[u8]>,
}

/// Which system calls are looked at besides execs. Each makes every system call of the machine slower, and needs BPF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WantedCalls {
    /// Writes, for the first output.
    pub outputs: bool,
    /// Lookups of paths, for marks.
    pub marks: bool,
}

/// Which processes are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only those of this user.
    pub user: Option<u32>,
    /// Only those in this control group and those below it.
    pub cgroup: Option<ControlGroup>,
}

/// A control group of the unified hierarchy (`cgroups(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// Its id: the inode number of its folder.
    pub id: u64,
    /// How deep it lies below the root of the hierarchy.
    pub level: u32,
}
