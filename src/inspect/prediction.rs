//! How many system calls and page faults a program's start takes, counted from headers.
//!
//! System calls follow from the loader's source: what glibc and musl do for themselves, for each library, and for
//! each segment of one. Page faults are a model: each mapping costs one fault for each 64 KiB of it that is
//! touched (`fault_around_bytes`), each page that is written another. Its constants were fitted to programs of glibc 2.36
//! and musl 1.2.3 on x86-64, and are off by up to a fifth. What the program itself does is not known, but for
//! one line of output where it imports stdio.

use super::elf::{Elf, Kind, PAGE, Segment};
use super::libraries::Library;
use serde::Serialize;

/// What a start takes, from execve to exit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// Each part, and what it takes.
    pub parts: Vec<Part>,
    /// All system calls.
    pub syscalls: u64,
    /// All page faults.
    pub page_faults: u64,
    /// Whether glibc starts it, which asks the processor what it can do.
    pub starts_glibc: bool,
}

/// One part of a start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Which.
    pub name: String,
    /// Its system calls.
    pub syscalls: u64,
    /// Its page faults.
    pub page_faults: u64,
}

/// Which C library starts the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runtime {
    Glibc,
    Musl,
    None,
}

/// Counts.
pub fn predict(program: &Elf, interpreter: Option<&Elf>, libraries: &[Library]) -> Prediction {
    let runtime = runtime(program);
    let mut parts = vec![
        part("the kernel: execve, stack", 1, 2),
        part("the program's own pages", own_syscalls(program, interpreter), object_faults(program, OWN_TEXT)),
    ];
    if let Some(interpreter) = interpreter {
        parts.push(loader(runtime, interpreter));
    }
    for library in libraries {
        parts.extend(self::library(library, runtime, program));
    }
    parts.push(start_and_exit(program, runtime));
    let syscalls = sum(parts.iter().map(|p| p.syscalls));
    let page_faults = sum(parts.iter().map(|p| p.page_faults));
    Prediction { parts, syscalls, page_faults, starts_glibc: runtime == Runtime::Glibc }
}

/// Headers may say anything, so that a sum may be too large for its type.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn part(name: &str, syscalls: u64, page_faults: u64) -> Part {
    Part { name: name.to_owned(), syscalls, page_faults }
}

fn runtime(program: &Elf) -> Runtime {
    match &program.interpreter {
        Some(name) if name.contains("ld-musl") => Runtime::Musl,
        Some(_) => Runtime::Glibc,
        // glibc's ifuncs and thread-local variables are there in every static program of it
        None if program.relocations.irelative > 0 => Runtime::Glibc,
        None if program.segments.len() > 2 => Runtime::Musl,
        None => Runtime::None,
    }
}

/// Windows of 64 KiB that a start touches in a program's own code.
const OWN_TEXT: u64 = 1;
/// The same in glibc, in a library with ifuncs (which are called to choose functions), and in others.
const LIBC_TEXT: u64 = 7;
const IFUNC_TEXT: u64 = 6;
const LIBRARY_TEXT: u64 = 1;

/// A page of read-only-after-relocation memory is protected by one mprotect.
fn own_syscalls(program: &Elf, interpreter: Option<&Elf>) -> u64 {
    u64::from(interpreter.is_some() && program.relro)
}

/// One fault for each 64 KiB of a mapping that is touched; for what is written one before, and one for each page.
fn object_faults(elf: &Elf, touched_text: u64) -> u64 {
    let loads = elf.segments.iter().filter(|s| s.kind == "LOAD");
    sum(loads.map(|segment| segment_faults(segment, touched_text)))
}

fn segment_faults(segment: &Segment, touched_text: u64) -> u64 {
    let windows = segment.file_size.div_ceil(16 * PAGE);
    if segment.flags.contains('w') {
        let read_first = u64::from(segment.file_pages > 0);
        segment.file_pages.saturating_add(read_first + segment.zero_pages.min(1))
    } else if segment.flags.contains('x') {
        windows.min(touched_text)
    } else if segment.offset == 0 {
        windows
    } else {
        windows.min(1)
    }
}

/// glibc: brk, mmap, `ld.so.preload`, the cache (open, fstat, mmap, close), thread set-up (5), its own mprotect,
/// prlimit, munmap. musl: `arch_prctl`, `set_tid_address`, brk (2), mmap, mprotect.
fn loader(runtime: Runtime, interpreter: &Elf) -> Part {
    let (syscalls, faults) = match runtime {
        Runtime::Musl => (6, 5),
        _ => (7 + 5 + 1 + 2, 12),
    };
    let touched = if runtime == Runtime::Musl { 3 } else { u64::MAX };
    part("the dynamic loader", syscalls, object_faults(interpreter, touched).saturating_add(faults))
}

fn library(library: &Library, runtime: Runtime, program: &Elf) -> Option<Part> {
    let elf = library.elf.as_ref()?;
    let is_loader = library.path.as_deref().and_then(|p| p.to_str()) == program.interpreter.as_deref();
    if is_loader {
        return None; // musl's libc, or glibc's loader as a library: mapped already
    }
    let text = match () {
        () if library.name.starts_with("libc.so") => LIBC_TEXT,
        () if elf.relocations.irelative > 0 => IFUNC_TEXT,
        () => LIBRARY_TEXT,
    };
    let faults = object_faults(elf, text);
    Some(part(&library.name, library.failed_opens + library_syscalls(elf, runtime), faults))
}

/// open, read, fstat, close; mmap for each segment and for zeroes behind the last page; mprotect; and two preads of
/// program headers that the first read (832 bytes) does not hold.
fn library_syscalls(elf: &Elf, runtime: Runtime) -> u64 {
    let loads = elf.segments.iter().filter(|s| s.kind == "LOAD").count() as u64;
    let zeroes = u64::from(elf.segments.iter().any(|s| s.kind == "LOAD" && s.zero_pages > 0));
    let more_headers = if runtime == Runtime::Glibc && elf.headers_end > 832 { 2 } else { 0 };
    4 + loads + zeroes + u64::from(elf.relro) + more_headers
}

/// What runs before main and after it. A line through stdio takes glibc getrandom, brk (2), fstat and write; musl ioctl
/// and writev.
fn start_and_exit(program: &Elf, runtime: Runtime) -> Part {
    let is_static = matches!(program.kind, Kind::Static | Kind::StaticPie);
    let (syscalls, faults) = match (runtime, is_static) {
        (Runtime::Glibc, true) => (10 + 5 + 1, 11),
        (Runtime::Glibc, false) => (5 + 1, 4),
        (Runtime::Musl, true) => (2 + 2 + 1, 0),
        (Runtime::Musl, false) => (2 + 1, 3),
        (Runtime::None, _) => (2, 0),
    };
    part("start, one line of output, exit", syscalls, faults)
}
