//! Predicts the number of system calls and page faults of a program's start from its headers.
//!
//! The system calls follow from the source of the loader: what glibc and musl do for themselves, for each library, and for
//! each segment of a library. The page faults are a model: each mapping costs one fault for each 64 KiB of it that is touched
//! (`fault_around_bytes`), and each page that is written costs another one. Its constants were fitted to programs of glibc
//! 2.36 and musl 1.2.3 on x86-64, and are off by up to a fifth. Those of Go 1.26 and of Rust's std (1.95) were fitted to one
//! hello world each. Of the program itself, only one line of output is counted. If nothing shows which runtime starts a
//! program, its start is not counted, and the prediction is marked as a minimum.

use super::file_kind::ElfKind;
use super::headers::{Elf, PAGE, Segment};
use super::libraries::Library;
use super::runtime::{CLibrary, Language, Runtime};
use serde::Serialize;

/// The cost of a start, from execve to exit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Prediction {
    pub parts: Vec<Part>,
    /// The sum of all parts.
    pub syscalls: u64,
    /// The sum of all parts.
    pub page_faults: u64,
    /// Whether it is known which runtime starts the program. If not, the counts are minima.
    pub runtime_is_known: bool,
    /// Whether glibc starts the program. It executes CPUID to learn what the processor can do.
    pub starts_glibc: bool,
}

/// One part of a start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    pub name: String,
    pub syscalls: u64,
    pub page_faults: u64,
}

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

/// Damaged headers may give any number, so the sum must not overflow.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn part(name: &str, syscalls: u64, page_faults: u64) -> Part {
    Part { name: name.to_owned(), syscalls, page_faults }
}

/// How many windows of 64 KiB a start touches in a program's own code.
const OWN_TEXT: u64 = 1;
/// The same for glibc, for a library with ifuncs (which run to choose functions), and for other libraries.
const LIBC_TEXT: u64 = 7;
const IFUNC_TEXT: u64 = 6;
const LIBRARY_TEXT: u64 = 1;

/// One mprotect makes memory read-only after relocation.
fn own_syscalls(program: &Elf, interpreter: Option<&Elf>) -> u64 {
    u64::from(interpreter.is_some() && program.relro)
}

/// One fault for each 64 KiB of a mapping that is touched. For writable memory, one for the first read and one for each page.
fn object_faults(elf: &Elf, touched_text: u64) -> u64 {
    let loads = elf.segments.iter().filter(|s| s.kind == "LOAD");
    sum(loads.map(|segment| segment_faults(segment, elf.size, touched_text)))
}

/// A mapping may be longer than its file, but nothing touches the part beyond the end of the file.
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
        return None; // musl's C library, or glibc's loader as a library, is mapped already
    }
    let text = match () {
        () if library.name.starts_with("libc.so") => LIBC_TEXT,
        () if elf.relocations.irelative > 0 => IFUNC_TEXT,
        () => LIBRARY_TEXT,
    };
    let faults = object_faults(elf, text);
    Some(part(&library.name, library.failed_opens + library_syscalls(elf, c_library), faults))
}

/// open, read, fstat and close; mmap for each segment and for zeroes behind the last page; mprotect; and two preads of program
/// headers that are not in the first 832 bytes, which is what the read gets.
fn library_syscalls(elf: &Elf, c_library: Option<CLibrary>) -> u64 {
    let loads = elf.segments.iter().filter(|s| s.kind == "LOAD").count() as u64;
    let zeroes = u64::from(elf.segments.iter().any(|s| s.kind == "LOAD" && s.zero_pages > 0));
    let more_headers = if c_library == Some(CLibrary::Glibc) && elf.headers_end > 832 { 2 } else { 0 };
    4 + loads + zeroes + u64::from(elf.relro) + more_headers
}

/// The work before main and after it. For a line through stdio, glibc calls getrandom, brk (twice), fstat and write; musl calls
/// ioctl and writev.
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

/// Go: a handler for each of 65 signals (two calls each), the mappings of the heap, threads; some of it depends on the number
/// of processors. Rust's std: poll, SIGPIPE, an alternative signal stack and, with glibc, the main thread's stack, read from
/// `/proc/self/maps`. With musl, the calls are counted from the source of std, not measured.
fn of_language(language: Language, runtime: &Runtime) -> Part {
    match (language, runtime.c_library) {
        (Language::Go, _) => part("Go's runtime", 207, 170),
        (Language::Rust, Some(CLibrary::Glibc)) => part("Rust's std", 18, 8),
        (Language::Rust, _) => part("Rust's std", 8, 3),
    }
}
