//! Why a launch failed, in words that help.

use super::command::Command;
use crate::confinement::Confinement;
use object::read::elf::{FileHeader, ProgramHeader};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// Why a process could not be created or could not execute its program.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program's interpreter (ELF or `#!`) does not exist.
    #[error(
        "`{program}` needs the interpreter `{interpreter}`, which does not exist\nhelp: install it, or name another on the program's first line"
    )]
    MissingInterpreter {
        /// The program.
        program: PathBuf,
        /// What is missing.
        interpreter: String,
    },
    /// An executable for another kind of machine.
    #[error(
        "`{program}` is an executable for {machine}, which this machine does not run\nhelp: build it for {}",
        std::env::consts::ARCH
    )]
    WrongArchitecture {
        /// The program.
        program: PathBuf,
        /// What it was built for.
        machine: String,
    },
    /// Neither an executable nor a script with a `#!` line.
    #[error(
        "`{program}` is not in a format that the kernel executes (an ELF file, or a script that begins with `#!`)\nhelp: run it with its interpreter, as in `sh {program}`"
    )]
    NoFormat {
        /// The program.
        program: PathBuf,
    },
    /// `execve` or a step before it failed.
    #[error("`{program}` could not be started: {step}: {cause}\nhelp: {help}")]
    Step {
        /// The program.
        program: PathBuf,
        /// The step that failed.
        step: &'static str,
        /// The kernel's answer.
        cause: io::Error,
        /// What to do.
        help: Cow<'static, str>,
    },
    /// Not everything of the run may be seen.
    #[error(
        "`{program}`, or a program that it starts, has other rights than yours, and with the capabilities of its file firstbyte shows only your own processes\nhelp: run it as root, or with --backend ptrace, under which the program gets no such rights"
    )]
    OtherRights {
        /// The program.
        program: PathBuf,
    },
    /// A program has lowered a limit of ours for good (`prlimit(2)` of its parent).
    #[error(
        "a program has lowered firstbyte's own limit on {name}, which every later program would have, too\nhelp: run as root, which may raise it again, or leave that program out"
    )]
    Limit {
        /// Its name.
        name: &'static str,
    },
    /// A resource that the run needs is not available.
    #[error("cannot get {what}: {cause}\nhelp: {}", what_helps(.cause))]
    Resource {
        /// The resource.
        what: &'static str,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The folder for temporary files is missing, full, or may not be written to.
    #[error(
        "cannot create a temporary file in `{}`: {cause}\nhelp: name a folder that you may write to, with free space: export TMPDIR=DIR",
        std::env::temp_dir().display()
    )]
    TemporaryFile {
        /// The kernel's answer.
        cause: io::Error,
    },
    /// A command that runs before or after each run failed.
    #[error("the command `{command}`, which runs {when} each run, {outcome}")]
    Hook {
        /// The command.
        command: String,
        /// `before` or `after`.
        when: &'static str,
        /// How it ended.
        outcome: String,
    },
    /// Something that a cold run needs is not available.
    #[error("{0}")]
    NotCold(String),
    /// The run was to end at a moment before the program ends, but the program ended earlier.
    #[error("it ended before it {awaited}")]
    NotReached {
        /// What was awaited.
        awaited: String,
        /// The last lines of the program's stderr.
        last: Vec<String>,
    },
    /// The run was to end when something listens on a port, but something does already.
    #[error(
        "something listens on port {port} already\nhelp: end it (`ss -ltnp` shows what it is), or use another port"
    )]
    PortInUse {
        /// The port.
        port: u16,
    },
    /// The run was to end at a mark, and what observes it sees none.
    #[error("the run cannot end at a mark, because this backend does not see marks\nhelp: --backend ptrace")]
    MarksUnseen,
    /// A process that we tried to kill is still alive.
    #[error(
        "`{name}` (process {process}) could not be killed and keeps running: {cause}\nhelp: run as root, or kill it by hand: sudo kill -9 {process}"
    )]
    Unkillable {
        /// Its name (`comm` in proc(5)).
        name: String,
        /// Its id.
        process: i32,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The user interrupted us.
    #[error("interrupted")]
    Interrupted,
}

impl LaunchError {
    /// A resource that is not available, for the reason that the last system call left in `errno`.
    pub fn resource(what: &'static str) -> LaunchError {
        LaunchError::Resource { what, cause: io::Error::last_os_error() }
    }

    /// A process that we tried to kill, and why it could not be killed.
    pub fn unkillable(process: i32, cause: io::Error) -> LaunchError {
        let name = std::fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
        let name = String::from_utf8_lossy(name.trim_ascii_end()).escape_debug().to_string();
        LaunchError::Unkillable { name, process, cause }
    }

    /// Whether the cause is this machine and not the program: there are no more descriptors, memory or processes,
    /// or we may not kill something that runs.
    pub fn is_machine_failure(&self) -> bool {
        match self {
            LaunchError::Resource { .. }
            | LaunchError::Limit { .. }
            | LaunchError::TemporaryFile { .. }
            | LaunchError::Unkillable { .. }
            | LaunchError::PortInUse { .. } => true,
            // `execve(2)` fails so if the user has too many processes; other steps may, too. No program needs the
            // steps that are ours alone.
            LaunchError::Step { cause, step, .. } => {
                let scarce = [libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE];
                let denied = [libc::EPERM, libc::ENOSYS];
                let is_ours = !["execve", "chdir"].contains(step);
                cause
                    .raw_os_error()
                    .is_some_and(|errno| scarce.contains(&errno) || is_ours && denied.contains(&errno))
            }
            _ => false,
        }
    }

    /// Explains the `errno` with which a step of the child failed.
    pub(super) fn from_child(command: &Command, step: &'static str, errno: i32) -> LaunchError {
        let program = command.program().to_owned();
        let seen = command.program_from_here();
        if step == "execve" {
            match errno {
                libc::ENOENT => {
                    if let Some(interpreter) = interpreter_of(&seen) {
                        return LaunchError::MissingInterpreter { program, interpreter };
                    }
                }
                libc::ENOEXEC => {
                    return match foreign_machine(&seen) {
                        Some(machine) => LaunchError::WrongArchitecture { program, machine },
                        None => LaunchError::NoFormat { program },
                    };
                }
                _ => {}
            }
        }

        let help = match errno {
            libc::EACCES => {
                "check the permissions of the file and of the folders above it, and that its file system is not mounted noexec"
            }
            libc::E2BIG => "pass fewer or shorter arguments",
            libc::ETXTBSY => "close the program that is writing to the file",
            libc::EINVAL if step == "sched_setaffinity" => {
                "name processors that exist (`nproc --all`) and that you may use"
            }
            libc::EAGAIN | libc::ENOMEM => "free some memory, or end some processes",
            libc::EPERM | libc::ENOSYS if Confinement::examine().filtered => FILTERED,
            _ => "try it by hand: the shell may say more",
        };
        LaunchError::Step { program, step, cause: io::Error::from_raw_os_error(errno), help: help.into() }
    }
}

/// The step at which a child waits until it is traced.
pub(super) const MEETING: &str = "meeting the tracer";

/// What helps against a filter that refuses a call.
const FILTERED: &str = "a seccomp filter refuses a system call: run firstbyte outside of it, or start the container with --security-opt seccomp=unconfined";

/// What the user can do about a resource that the kernel refuses.
fn what_helps(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EMFILE) => "raise the limit on open files, as in: ulimit -n 1024",
        Some(libc::ENFILE) => "close other programs: the machine has no more open files",
        Some(libc::EAGAIN) => "end some processes, or raise their limit (`ulimit -u` shows it)",
        Some(libc::ENOMEM) => "free some memory, or raise the limit (`ulimit -v` shows it)",
        Some(libc::EPERM | libc::ENOSYS) if Confinement::examine().filtered => FILTERED,
        _ => "`firstbyte doctor` shows what works here",
    }
}

/// The interpreter that a script's `#!` line or an ELF file's `PT_INTERP` names.
pub fn interpreter_of(program: &Path) -> Option<String> {
    let start = read_start(program)?;
    if let Some(line) = start.strip_prefix(b"#!") {
        let line = line.split(|&b| b == b'\n').next()?;
        let text = String::from_utf8_lossy(line);
        return text.split_whitespace().next().map(str::to_owned);
    }
    elf_interpreter::<object::elf::FileHeader64<object::Endianness>>(&start)
        .or_else(|| elf_interpreter::<object::elf::FileHeader32<object::Endianness>>(&start))
}

fn elf_interpreter<Elf: FileHeader<Endian = object::Endianness>>(start: &[u8]) -> Option<String> {
    let header = Elf::parse(start).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, start).ok()?;
    let path = segments.iter().find_map(|segment| segment.interpreter(endian, start).ok().flatten())?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// The machine that an ELF file was built for.
fn foreign_machine(program: &Path) -> Option<String> {
    let start = read_start(program)?;
    if !start.starts_with(&object::elf::ELFMAG) || start.len() < 20 {
        return None;
    }

    let bytes = [start[18], start[19]];
    let machine = if start[5] == object::elf::ELFDATA2MSB {
        u16::from_be_bytes(bytes)
    } else {
        u16::from_le_bytes(bytes)
    };

    Some(match machine {
        object::elf::EM_X86_64 => "x86-64".to_owned(),
        object::elf::EM_386 => "i386".to_owned(),
        object::elf::EM_AARCH64 => "aarch64".to_owned(),
        object::elf::EM_ARM => "32-bit Arm".to_owned(),
        object::elf::EM_RISCV => "RISC-V".to_owned(),
        object::elf::EM_S390 => "s390x".to_owned(),
        object::elf::EM_PPC64 => "64-bit PowerPC".to_owned(),
        other => format!("ELF machine {other}"),
    })
}

/// The beginning of a file: enough for its headers and the name of its interpreter.
fn read_start(program: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut start = Vec::new();
    std::fs::File::open(program).ok()?.take(8192).read_to_end(&mut start).ok()?;
    Some(start)
}
