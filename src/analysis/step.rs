//! The steps into which the time of a thread is divided.

use firstbyte_measure::arch::{CallFacts, Wait};
use firstbyte_measure::launch::exit_status::named;
use firstbyte_measure::tracer::event::MarkPath;
use firstbyte_measure::units::Nanos;
use std::fmt;
use std::sync::Arc;

/// Something that a thread did, or waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When the step began, counted from the entry of the tracee's first `execve`.
    pub start: Nanos,
    /// From the beginning to the end, with everything in between.
    pub elapsed: Nanos,
    /// The time without the faults and waits inside, which are separate steps. The own times of all steps of a thread sum to its
    /// lifetime exactly.
    pub self_time: Nanos,
    /// A thread, the path and the summary share it.
    pub what: Arc<What>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The work of the kernel for an exec.
    Exec {
        stage: ExecStage,
        path: Arc<str>,
    },
    /// A system call.
    Call {
        name: Arc<str>,
        /// The call with its arguments and its result.
        text: String,
        /// The file that the call worked on.
        file: Option<Arc<str>>,
        /// The call returned an error.
        failed: bool,
        /// The code that made the call. If the C library made it, the caller of the C library.
        code: Option<Code>,
    },
    Fault(PageFault),
    /// The kernel ended the process by this signal: it delivered the signal, wrote a core if one was wanted, and released what
    /// the process had.
    Death {
        signal: i32,
    },
    /// The thread was off the processor.
    Off(Reason),
    User,
}

/// The parts of an exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecStage {
    /// Until `sched_prepare_exec`: the kernel opens and checks the file, and copies arguments and environment.
    Open,
    /// Until `sched_process_exec`: the kernel discards the old image and maps the new one and its interpreter.
    Load,
    /// Until `execve` returns in the new image.
    Return,
}

impl fmt::Display for ExecStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExecStage::Open => "open the file, copy the arguments",
            ExecStage::Load => "discard the old image, map the new one",
            ExecStage::Return => "return into the new image",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageFault {
    /// The memory that was touched.
    pub region: Region,
    /// The file offset of the page, or its address if there is no file.
    pub page: u64,
    /// Whether the access was a write; `None`: not known.
    pub write: Option<bool>,
    /// Whether the fault needed I/O.
    pub major: bool,
    /// The code that touched the page; `None`: the kernel did, for the thread.
    pub code: Option<Code>,
}

/// A kind of memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    File(Arc<str>),
    /// Zero-initialised data of a file's segments.
    Bss(Arc<str>),
    /// Memory without a file.
    Anonymous,
    /// The memory whose end `brk` moves.
    Heap,
    /// The stack of the first thread of a process.
    Stack,
    /// The kernel's code for user programs, `vdso(7)`.
    Vdso,
    /// The recording does not say.
    Unknown,
}

impl Region {
    /// The file to which the memory belongs.
    pub fn file(&self) -> Option<&Arc<str>> {
        match self {
            Region::File(path) | Region::Bss(path) => Some(path),
            _ => None,
        }
    }
}

/// Why a thread was off the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The thread was created and had not run yet.
    Created,
    /// The scheduler preferred another thread.
    Preempted,
    /// The thread had been woken up and could have run.
    Runnable,
    /// A system call waited for this.
    For(Wait),
    /// On the way back to user code, a stop signal, a debugger or a frozen control group held the thread.
    Stopped,
    /// A page was read from disk.
    PageRead,
    /// The thread slept inside an exec.
    Exec,
    /// Anything else that waits in the kernel.
    Kernel,
    /// The thread has ended and its process has not.
    Gone,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::Created => "first turn on a processor",
            Reason::Preempted => "preempted",
            Reason::Runnable => "a turn on a processor",
            Reason::For(Wait::Child) => "a child's exit",
            Reason::For(Wait::Vfork) => "a child's exec",
            Reason::For(Wait::Futex) => "futex",
            Reason::For(Wait::Poll) => "poll",
            Reason::For(Wait::IoUring) => "io_uring",
            Reason::For(Wait::Read) => "read",
            Reason::For(Wait::Write) => "write",
            Reason::For(Wait::Splice) => "splice or sendfile",
            Reason::For(Wait::Connection) => "a connection",
            Reason::For(Wait::FileLock) => "a file lock",
            Reason::For(Wait::Semaphore) => "a semaphore",
            Reason::For(Wait::Signal) => "a signal",
            Reason::For(Wait::Sleep) => "sleep",
            Reason::Stopped => "stopped",
            Reason::PageRead => "a page from disk",
            Reason::Exec => "exec",
            Reason::Kernel => "the kernel",
            Reason::Gone => "other threads' end",
        }
    }

    /// Why a thread sleeps in this system call. For `restart_syscall`, ask for the call that was interrupted.
    pub fn of_call(name: &str) -> Reason {
        CallFacts::of(name).and_then(CallFacts::waits_for).map_or(Reason::Kernel, Reason::For)
    }
}

/// A place in user code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    pub module: CodeOrigin,
    /// The function, if the file has a symbol for it.
    pub function: Option<Arc<str>>,
}

/// The file or the memory that code comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeOrigin {
    pub role: Role,
    /// Empty if there is no file.
    pub path: Arc<str>,
}

impl CodeOrigin {
    pub fn without_file(role: Role) -> CodeOrigin {
        CodeOrigin { role, path: "".into() }
    }

    /// The name of the file without its folder, with the role if the name does not show it.
    pub fn name(&self) -> String {
        let file = self.path.rsplit('/').next().unwrap_or_default();
        match self.role {
            Role::Executable if file.is_empty() => "the executable".to_owned(),
            Role::Executable => format!("{file} (executable)"),
            Role::Loader => "ld.so".to_owned(),
            Role::Libc => "libc".to_owned(),
            Role::Library => file.to_owned(),
            Role::Vdso => "vdso".to_owned(),
            Role::Anonymous => "generated code".to_owned(),
            Role::Unknown => "unknown".to_owned(),
        }
    }
}

/// The part that a module plays in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The file that was executed.
    Executable,
    /// The ELF interpreter.
    Loader,
    /// The C library.
    Libc,
    /// Any other file.
    Library,
    /// The kernel's `vdso(7)`.
    Vdso,
    /// Memory without a file: the output of a just-in-time compiler, a trampoline.
    Anonymous,
    /// Not known.
    Unknown,
}

impl Role {
    /// Its code runs on behalf of other modules: time around it is rather theirs.
    pub(super) fn works_for_others(self) -> bool {
        matches!(self, Role::Libc | Role::Vdso)
    }
}

impl What {
    /// The program names a part of its run: it looks for no file.
    pub fn is_mark(&self) -> bool {
        match self {
            What::Call { failed: true, file: Some(path), .. } => {
                MarkPath::of(path.as_bytes()).is_some() && self.call_facts().is_some_and(CallFacts::looks_up)
            }
            _ => false,
        }
    }

    /// What is known of the system call, if it is one.
    pub fn call_facts(&self) -> Option<&'static CallFacts> {
        match self {
            What::Call { name, .. } => CallFacts::of(name),
            _ => None,
        }
    }

    /// Whether it opened a file by its path, or tried to.
    pub fn opens(&self) -> bool {
        self.call_facts().is_some_and(CallFacts::opens)
    }

    /// What makes two steps of different runs the same step: not its addresses, descriptors or times.
    pub fn key(&self) -> String {
        match self {
            What::Exec { stage, .. } => format!("exec {stage:?}"),
            What::Call { name, file, failed, .. } => {
                format!("call {name} {} {failed}", file.as_deref().unwrap_or(""))
            }
            What::Fault(fault) => match &fault.region {
                Region::File(path) => format!("fault {path} {:x}", fault.page),
                other => format!("fault {other:?} {:?}", fault.write),
            },
            What::Death { signal } => format!("death {signal}"),
            What::Off(reason) => format!("off {reason:?}"),
            What::User => "user".to_owned(),
        }
    }

    /// One line for a person.
    pub fn title(&self) -> String {
        match self {
            What::Exec { stage, path } => format!("exec {path}: {stage}"),
            What::Call { text, .. } => text.clone(),
            What::Fault(fault) => fault.title(),
            What::Death { signal } => format!("death by {}", named(*signal)),
            What::Off(reason @ (Reason::Preempted | Reason::Stopped)) => {
                format!("off the processor: {}", reason.name())
            }
            What::Off(reason) => format!("waiting for {}", reason.name()),
            What::User => "user code".to_owned(),
        }
    }
}

impl PageFault {
    fn title(&self) -> String {
        let kind = if self.major { "major fault" } else { "fault" };
        let access = self.write.map_or("", |write| if write { " (write)" } else { " (read)" });
        let region = match &self.region {
            Region::File(path) => format!("{path}+{:#x}", self.page),
            Region::Bss(path) => format!("{path}, zeroed data"),
            Region::Anonymous => "anonymous memory".to_owned(),
            Region::Heap => "heap".to_owned(),
            Region::Stack => "stack".to_owned(),
            Region::Vdso => "vdso".to_owned(),
            Region::Unknown => format!("{:#x}", self.page),
        };
        match &self.code {
            None => format!("{kind}{access} {region}, by the kernel"),
            Some(Code { module, function: Some(function) }) => {
                format!("{kind}{access} {region}, by {}: {function}", module.name())
            }
            Some(code) => format!("{kind}{access} {region}, by {}", code.module.name()),
        }
    }
}
