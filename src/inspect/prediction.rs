//! How many system calls and page faults a program's start takes, counted from headers.
//!
//! System calls follow from the loader's source: what glibc and musl do for themselves, for each library, and for
//! each segment of one. Page faults are a model: each mapping costs one fault for each 64 KiB of it that is
//! touched (`fault_around_bytes`), each page that is written another. Its constants were fitted to programs of glibc 2.36
//! and musl 1.2.3 on x86-64, and are off by up to a fifth; those of Go 1.26 and of Rust's std (1.95) to a hello of
//! each. What the program itself does is not known, but for one line of output. Where nothing tells which runtime
//! starts a program, its start is not counted: the prediction is then marked as the least that it takes.

use super::headers::{Elf, PAGE, Segment};
use super::kind::ElfKind;
use super::libraries::Library;
use super::runtime::{CLibrary, Language, Runtime};
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
    /// Whether it is known what starts the program; else these counts are the least that it takes.
    pub runtime_is_known: bool,
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

/// Counts.
pub fn predict(program: &Elf, interpreter: Option<&Elf>, libraries: &[Library]) -> Prediction {
    let runtime = &program.runtime;
    let mut parts = vec![
        part("the kernel: execve, stack", 1, 2),
        part("the program's own pages", own_syscalls(program, interpreter), object_faults(program, OWN_TEXT)),
    ];
    if let Some(interpreter) = interpreter {
        parts.push(loader(runtime.c_library, interpreter));
    }
    for library in libraries {
        parts.extend(self::library(library, runtime.c_library, program));
    }
    parts.push(start_and_exit(program, runtime));
    parts.extend(runtime.language.map(|language| of_language(language, runtime)));
    let syscalls = sum(parts.iter().map(|p| p.syscalls));
    let page_faults = sum(parts.iter().map(|p| p.page_faults));
    let starts_glibc = runtime.c_library == Some(CLibrary::Glibc);
    Prediction { parts, syscalls, page_faults, runtime_is_known: runtime.is_known(), starts_glibc }
}

/// Headers may say anything, so that a sum may be too large for its type.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn part(name: &str, syscalls: u64, page_faults: u64) -> Part {
    Part { name: name.to_owned(), syscalls, page_faults }
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
    sum(loads.map(|segment| segment_faults(segment, elf.size, touched_text)))
}

/// A mapping may be longer than its file: nobody touches what lies beyond it.
fn segment_faults(segment: &Segment, size_of_file: u64, touched_text: u64) -> u64 {
    let there = segment.file_size.min(size_of_file.saturating_sub(segment.offset / PAGE * PAGE));
    let windows = there.div_ceil(16 * PAGE);
    if segment.flags.contains('w') {
        let pages = segment.file_pages.min(there / PAGE + 2);
        let read_first = u64::from(pages > 0);
        pages.saturating_add(read_first + segment.zero_pages.min(1))
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
fn loader(c_library: Option<CLibrary>, interpreter: &Elf) -> Part {
    let (syscalls, faults, touched) = match c_library {
        Some(CLibrary::Musl) => (6, 5, 3),
        Some(CLibrary::Glibc) => (7 + 5 + 1 + 2, 12, u64::MAX),
        None => (0, 0, 1),
    };
    part("the dynamic loader", syscalls, object_faults(interpreter, touched).saturating_add(faults))
}

fn library(library: &Library, c_library: Option<CLibrary>, program: &Elf) -> Option<Part> {
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
    Some(part(&library.name, library.failed_opens + library_syscalls(elf, c_library), faults))
}

/// open, read, fstat, close; mmap for each segment and for zeroes behind the last page; mprotect; and two preads of
/// program headers that the first read (832 bytes) does not hold.
fn library_syscalls(elf: &Elf, c_library: Option<CLibrary>) -> u64 {
    let loads = elf.segments.iter().filter(|s| s.kind == "LOAD").count() as u64;
    let zeroes = u64::from(elf.segments.iter().any(|s| s.kind == "LOAD" && s.zero_pages > 0));
    let more_headers = if c_library == Some(CLibrary::Glibc) && elf.headers_end > 832 { 2 } else { 0 };
    4 + loads + zeroes + u64::from(elf.relro) + more_headers
}

/// What runs before main and after it. A line through stdio takes glibc getrandom, brk (2), fstat and write; musl ioctl
/// and writev.
fn start_and_exit(program: &Elf, runtime: &Runtime) -> Part {
    let is_static = matches!(program.kind, ElfKind::Static | ElfKind::StaticPie);
    let (syscalls, faults) = match (runtime.c_library, is_static) {
        (Some(CLibrary::Glibc), true) => (10 + 5 + 1, 11),
        (Some(CLibrary::Glibc), false) => (5 + 1, 4),
        (Some(CLibrary::Musl), true) => (2 + 2 + 1, 0),
        (Some(CLibrary::Musl), false) => (2 + 1, 3),
        (None, _) => (2, 0),
    };
    let name =
        if runtime.is_known() { "start, one line of output, exit" } else { "one line of output, exit" };
    part(name, syscalls, faults)
}

/// Go: a handler for each of 65 signals (two calls each), the heap's mappings, threads; a part of it varies with the
/// number of processors. Rust's std: poll, SIGPIPE, an alternative stack, and with glibc the main thread's stack, read
/// from `/proc/self/maps` (with musl: counted from std's source, not measured).
fn of_language(language: Language, runtime: &Runtime) -> Part {
    match (language, runtime.c_library) {
        (Language::Go, _) => part("Go's runtime", 207, 170),
        (Language::Rust, Some(CLibrary::Glibc)) => part("Rust's std", 18, 8),
        (Language::Rust, _) => part("Rust's std", 8, 3),
    }
}
