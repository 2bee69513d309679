//! Which pages of a program, of its libraries and of its loader a start touches.

use super::code::walk::Reached;
use super::faults::{Faults, Touches};
use super::glibc::loading::Loading;
use super::headers::{Elf, PAGE};
use super::library::Interpreter;
use super::relocated::{Relocated, relocated};
use super::runtime::{self, CLibrary};
use super::started::Started;
use object::{Object, ObjectSymbol, elf};
use std::collections::BTreeSet;

/// Exported functions of glibc that run in each start, and those that run when a program prints.
const START_FUNCTIONS: [&str; 9] = [
    "__libc_early_init",
    "__ctype_init",
    "getrlimit",
    "__libc_start_main",
    "__cxa_atexit",
    "exit",
    "_exit",
    "__cxa_finalize",
    "_dl_find_dso_for_object",
];
const PRINT_FUNCTIONS: [&str; 5] = ["puts", "malloc", "fstat64", "__write", "_IO_file_doallocate"];

/// A program: its headers, what the loader reads and changes, and what its code touches.
pub(super) fn program(started: &Started<'_>, code: &Reached) -> Faults {
    let mut touches = Touches::new(started.elf);
    clear_rest(started.elf, &mut touches);
    if started.interpreter.is_some() {
        touches.address(headers_address(started.elf), false, true);
        linked(started.elf, started.bytes, &mut touches);
    }
    for (page, is_write) in &code.pages {
        touches.page(*page, *is_write, true);
    }
    if started.elf.runtime.c_library == Some(CLibrary::Glibc) && started.interpreter.is_none() {
        return Faults::default(); // all of it is touched by the C library's start
    }
    touches.faults()
}

/// A library: what the loader reads and changes, and what its constructors touch. `prints`: the program prints.
pub(super) fn library(elf: &Elf, bytes: &[u8], reached: &Reached, prints: bool) -> Faults {
    let mut touches = Touches::new(elf);
    clear_rest(elf, &mut touches);
    let resolvers = linked(elf, bytes, &mut touches);
    for (page, is_write) in &reached.pages {
        touches.page(*page, *is_write, true);
    }
    if elf.soname() != Some("libc.so.6") {
        return touches.faults();
    }

    for address in resolvers {
        touches.address(address, false, true);
    }
    functions(bytes, &START_FUNCTIONS, &mut touches);
    if prints {
        functions(bytes, &PRINT_FUNCTIONS, &mut touches);
    }
    touches.faults() + LIBC_VARIABLES + if prints { HEAP } else { Faults::default() }
}

/// Variables behind the file's part: of the first thread, of malloc, of exit.
const LIBC_VARIABLES: Faults = Faults { expected: 6, least: 2 };
/// The first pages that malloc uses.
const HEAP: Faults = Faults::expected(2);

/// The loader itself: all its code, its variables, the stack below it, and the memory that it asks for.
pub(super) fn loader(interpreter: &Interpreter, loading: &Loading) -> Faults {
    let Some(elf) = &interpreter.elf else { return Faults::default() };
    let mut touches = Touches::new(elf);
    clear_rest(elf, &mut touches);
    if runtime::is_musl(&interpreter.path) {
        linked(elf, &interpreter.bytes, &mut touches);
        return touches.faults() + Faults { expected: 12, least: 4 };
    }
    for segment in elf.loads() {
        touches.range(segment.address, segment.file_size, segment.flags.contains('w'), false);
    }
    touches.address(elf.entry, false, true);
    linked(elf, &interpreter.bytes, &mut touches);
    let memory = Faults { expected: loading.memory_pages + 2, least: 1 };
    let cache = if loading.reads_cache { Faults::exactly(1) } else { Faults::default() };
    touches.faults() + memory + cache
}

/// The kernel or the loader clears the rest of the last page of the file's part.
fn clear_rest(elf: &Elf, touches: &mut Touches) {
    for segment in elf.loads().filter(|s| s.memory_size > s.file_size && s.flags.contains('w')) {
        let end = segment.address.saturating_add(segment.file_size);
        if end % PAGE != 0 {
            touches.address(end, true, true);
        }
    }
}

fn headers_address(elf: &Elf) -> u64 {
    elf.segments.iter().find(|s| s.kind == "PHDR").map_or(0, |s| s.address)
}

/// The loader reads the dynamic section and stores addresses in it, reads the tables, and relocates.
/// Returns the functions that choose others for this processor, which run while the library is relocated.
fn linked(elf: &Elf, bytes: &[u8], touches: &mut Touches) -> BTreeSet<u64> {
    let Some(dynamic) = &elf.dynamic else { return BTreeSet::new() };
    let value = |tag: u32| dynamic.values.get(&u64::from(tag)).copied();
    if let Some(section) = elf.segments.iter().find(|s| s.kind == "DYNAMIC") {
        touches.range(section.address, section.file_size, false, true);
        touches.range(section.address, section.file_size, true, true);
    }

    for (at, size) in
        [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_REL, elf::DT_RELSZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)]
    {
        touches.range(value(at).unwrap_or(0), value(size).unwrap_or(0), false, true);
    }
    // the names and versions that are compared, and the table that finds them, are here and there
    let tables =
        [elf::DT_GNU_HASH, elf::DT_HASH, elf::DT_SYMTAB, elf::DT_STRTAB].into_iter().filter_map(value);
    let ends = value(elf::DT_STRTAB).map(|at| at.saturating_add(value(elf::DT_STRSZ).unwrap_or(0)));
    let all: Vec<u64> = tables.chain(ends).collect();
    if let (Some(first), Some(last)) = (all.iter().min(), all.iter().max()) {
        touches.range(*first, last - first, false, false);
    }
    let Relocated { pages, resolvers } = relocated(elf, bytes);
    for page in pages {
        touches.page(page, true, true);
    }
    resolvers
}

fn functions(bytes: &[u8], names: &[&str], touches: &mut Touches) {
    let Ok(file) = object::File::parse(bytes) else { return };
    for symbol in file.dynamic_symbols().filter(|s| s.is_definition()) {
        if symbol.name().is_ok_and(|name| names.contains(&name)) {
            touches.address(symbol.address(), false, false);
        }
    }
}
