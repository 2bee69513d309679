//! What a thread's time consists of.

use firstbyte_measure::units::Nanos;
use std::fmt;
use std::sync::Arc;

/// One thing that a thread did or waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it began, from the entry of the tracee's first `execve`.
    pub start: Nanos,
    /// From its beginning to its end, with all that lay within.
    pub elapsed: Nanos,
    /// Its own time: without the faults and waits within, which are steps of their own. Of one thread these sum up to
    /// its lifetime exactly.
    pub own: Nanos,
    /// What it was.
    pub what: What,
}

/// What a step was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The kernel's work for an exec.
    Exec {
        /// Which part of it.
        stage: ExecStage,
        /// The file.
        path: Arc<str>,
    },
    /// A system call.
    Call {
        /// Its name.
        name: Arc<str>,
        /// The call as text, with arguments and result.
        text: String,
        /// The file that it was about.
        file: Option<Arc<str>>,
        /// It returned an error.
        failed: bool,
        /// The code that made it: the C library's caller, where that made it.
        code: Option<Code>,
    },
    /// A page fault.
    Fault(PageFault),
    /// The thread was off the processor.
    Off(Reason),
    /// User code ran.
    User(Code),
}

/// The parts of an exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecStage {
    /// Until `sched_prepare_exec`: opens and checks the file, copies arguments and environment.
    Open,
    /// Until `sched_process_exec`: discards the old image, maps the new one and its interpreter.
    Load,
    /// Until `execve` has returned in the new image.
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

/// A page fault, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// What was touched.
    pub region: Region,
    /// The file offset of the page, or the address of the page where there is no file.
    pub page: u64,
    /// It was a write.
    pub write: bool,
    /// It needed I/O.
    pub major: bool,
    /// The code that touched it; `None`: the kernel, on behalf of the thread.
    pub code: Option<Code>,
}

/// What kind of memory was touched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    /// A page of a file.
    File(Arc<str>),
    /// Zero-initialised data of a file's segments.
    Bss(Arc<str>),
    /// Memory without a file.
    Anonymous,
    /// The heap that `brk` moves.
    Heap,
    /// The stack of a process' first thread.
    Stack,
    /// The kernel's own, mapped into every process.
    Vdso,
    /// The recording does not say.
    Unknown,
}

impl Region {
    /// The file whose page it is, if any.
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
    /// Created, and not yet run.
    Created,
    /// Another thread was preferred.
    Preempted,
    /// What it waited for had come: it had been woken up, and could have run.
    Runnable,
    /// `wait4`, `waitid`.
    Child,
    /// `vfork` and the like: until the child has executed its program.
    Vfork,
    /// `futex`: a lock, a condition, a thread's end.
    Futex,
    /// `poll`, `select`, `epoll_wait`.
    Poll,
    /// `io_uring_enter`: operations that it had queued.
    IoUring,
    /// `read`, `recv`, `msgrcv` and the like.
    Read,
    /// `write`, `send`, `msgsnd`, `fsync` and the like.
    Write,
    /// `splice`, `sendfile` and the like, which wait for data or for room.
    Splice,
    /// `connect`, `accept`.
    Connection,
    /// `flock`, `fcntl`.
    FileLock,
    /// `semop` and the like.
    Semaphore,
    /// `pause`, `sigsuspend`, `sigtimedwait`.
    Signal,
    /// `nanosleep`.
    Sleep,
    /// On its way back to the program it was kept from it: by a stop signal, a debugger, a frozen control group.
    Stopped,
    /// A page that had to be read.
    PageRead,
    /// Within an exec.
    Exec,
    /// Anything else that blocks in the kernel.
    Kernel,
    /// The thread is gone; its process is not.
    Gone,
}

impl Reason {
    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Created => "first turn on a processor",
            Reason::Preempted => "preempted",
            Reason::Runnable => "a turn on a processor",
            Reason::Child => "a child's exit",
            Reason::Vfork => "a child's exec",
            Reason::Futex => "futex",
            Reason::Poll => "poll",
            Reason::IoUring => "io_uring",
            Reason::Read => "read",
            Reason::Write => "write",
            Reason::Splice => "splice or sendfile",
            Reason::Connection => "a connection",
            Reason::FileLock => "a file lock",
            Reason::Semaphore => "a semaphore",
            Reason::Signal => "a signal",
            Reason::Sleep => "sleep",
            Reason::Stopped => "stopped",
            Reason::PageRead => "a page from disk",
            Reason::Exec => "exec",
            Reason::Kernel => "the kernel",
            Reason::Gone => "other threads' end",
        }
    }

    /// Of the system call within which a thread sleeps; of `restart_syscall` it is that of the call that was interrupted.
    pub fn of_call(name: &str) -> Reason {
        let of = |(reason, names): &(Reason, &[&str])| names.contains(&name).then_some(*reason);
        WAITS.iter().find_map(of).unwrap_or(Reason::Kernel)
    }
}

/// The calls that wait for something, by what for: the names of the native table and of the 32-bit one.
const WAITS: &[(Reason, &[&str])] = &[
    (Reason::Child, &["wait4", "waitid", "waitpid"]),
    (Reason::Vfork, &["vfork", "clone", "clone3", "fork"]),
    (Reason::Futex, &["futex", "futex_time64", "futex_wait", "futex_waitv"]),
    (
        Reason::Poll,
        &[
            "poll",
            "ppoll",
            "ppoll_time64",
            "select",
            "_newselect",
            "pselect6",
            "pselect6_time64",
            "epoll_wait",
            "epoll_pwait",
            "epoll_pwait2",
        ],
    ),
    (Reason::IoUring, &["io_uring_enter", "io_getevents", "io_pgetevents", "io_pgetevents_time64"]),
    (
        Reason::Read,
        &[
            "read",
            "pread64",
            "readv",
            "preadv",
            "preadv2",
            "recvfrom",
            "recvmsg",
            "recvmmsg",
            "recvmmsg_time64",
            "msgrcv",
            "mq_timedreceive",
            "mq_timedreceive_time64",
            "getdents",
            "getdents64",
        ],
    ),
    (
        Reason::Write,
        &[
            "write",
            "pwrite64",
            "writev",
            "pwritev",
            "pwritev2",
            "sendto",
            "sendmsg",
            "sendmmsg",
            "msgsnd",
            "mq_timedsend",
            "mq_timedsend_time64",
            "fsync",
            "fdatasync",
            "sync_file_range",
            "syncfs",
            "sync",
            "msync",
        ],
    ),
    (Reason::Splice, &["splice", "tee", "vmsplice", "sendfile", "sendfile64", "copy_file_range"]),
    (Reason::Connection, &["connect", "accept", "accept4"]),
    (Reason::FileLock, &["flock", "fcntl", "fcntl64"]),
    (Reason::Semaphore, &["semop", "semtimedop", "semtimedop_time64"]),
    (Reason::Signal, &["pause", "sigsuspend", "rt_sigsuspend", "rt_sigtimedwait", "rt_sigtimedwait_time64"]),
    (Reason::Sleep, &["nanosleep", "clock_nanosleep", "clock_nanosleep_time64"]),
];

/// Whether a system call opens a file by its path.
pub(super) fn is_open(name: &str) -> bool {
    matches!(name, "open" | "openat" | "openat2" | "creat")
}

/// A place in user code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The module.
    pub module: Module,
    /// The function, where a symbol says so; `a → b` where code went from one to the other.
    pub function: Option<Arc<str>>,
}

/// What code belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Module {
    /// Which part it plays.
    pub role: Role,
    /// Its file; empty where there is none.
    pub path: Arc<str>,
}

impl Module {
    /// Code of no file.
    pub fn without_file(role: Role) -> Module {
        Module { role, path: "".into() }
    }

    /// The file's name without its folder, and the part that it plays where the name does not tell.
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

/// Which part a module plays.
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
    /// Memory of no file: a just-in-time compiler's, a trampoline.
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
    /// What makes two steps of different runs the same step: not its addresses, descriptors or times.
    pub fn key(&self) -> String {
        match self {
            What::Exec { stage, .. } => format!("exec {stage:?}"),
            What::Call { name, file, failed, .. } => {
                format!("call {name} {} {failed}", file.as_deref().unwrap_or(""))
            }
            What::Fault(fault) => match &fault.region {
                Region::File(path) => format!("fault {path} {:x}", fault.page),
                other => format!("fault {other:?} {}", fault.write),
            },
            What::Off(reason) => format!("off {reason:?}"),
            What::User(code) => format!("user {:?} {}", code.module.role, code.module.path),
        }
    }

    /// One line for a person.
    pub fn title(&self) -> String {
        match self {
            What::Exec { stage, path } => format!("exec {path}: {stage}"),
            What::Call { text, .. } => text.clone(),
            What::Fault(fault) => fault.title(),
            What::Off(reason @ (Reason::Preempted | Reason::Stopped)) => {
                format!("off the processor: {}", reason.name())
            }
            What::Off(reason) => format!("waiting for {}", reason.name()),
            What::User(code) => match &code.function {
                Some(function) => format!("user code in {}: {function}", code.module.name()),
                None => format!("user code in {}", code.module.name()),
            },
        }
    }
}

impl PageFault {
    fn title(&self) -> String {
        let kind = if self.major { "major fault" } else { "fault" };
        let access = if self.write { "write" } else { "read" };
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
            None => format!("{kind} ({access}) {region}, by the kernel"),
            Some(code) => format!("{kind} ({access}) {region}, by {}", code.module.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_wait_are_calls_and_each_has_one_reason() {
        let names: Vec<&str> = WAITS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for name in &names {
            let known = firstbyte_measure::arch::native_number(name)
                .or_else(|| firstbyte_measure::arch::compat_number(name));
            let elsewhere = cfg!(not(target_arch = "x86_64"));
            assert!(known.is_some() || elsewhere, "{name}");
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        assert_eq!(Reason::of_call("preadv2"), Reason::Read);
        assert_eq!(Reason::of_call("rt_sigtimedwait"), Reason::Signal);
        assert_eq!(Reason::of_call("uname"), Reason::Kernel);
    }
}
