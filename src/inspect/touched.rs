//! Which pages of a program, of its libraries and of its loader a start touches.

use super::code::walk::Reached;
use super::faults::{Faults, Touches};
use super::glibc::loading::Loading;
use super::headers::{Elf, PAGE, Segment};
use super::library::Interpreter;
use super::relocated::{Relocated, relocated};
use super::runtime::{self, CLibrary};
use super::started::Started;
use object::{Object, ObjectSymbol, elf};
use std::collections::BTreeSet;

/// Exported functions of glibc that run before each program, in each program that ends as usual, and when one prints.
const EARLY_FUNCTIONS: [&str; 3] = ["__libc_early_init", "__ctype_init", "getrlimit"];
const START_FUNCTIONS: [&str; 6] =
    ["__libc_start_main", "__cxa_atexit", "exit", "_exit", "__cxa_finalize", "_dl_find_dso_for_object"];
const PRINT_FUNCTIONS: [&str; 5] = ["puts", "malloc", "fstat64", "__write", "_IO_file_doallocate"];

/// A program: its headers, what the loader reads and changes, and what its code touches.
pub(super) fn program(started: &Started<'_>, code: &Reached) -> Faults {
    let mut touches = Touches::new(started.elf);
    clear_rest(started.elf, &mut touches);
    if started.elf.runtime.c_library == Some(CLibrary::Musl) || started.interpreter.is_some() {
        touches.address(headers_address(started.elf), false, true);
    }
    if started.interpreter.is_some() {
        linked(started.elf, started.bytes, &mut touches);
    }
    for (page, is_write) in &code.pages {
        touches.page(*page, *is_write, true);
    }
    if started.elf.runtime.c_library == Some(CLibrary::Glibc) && started.interpreter.is_none() {
        return Faults::default(); // all of it is touched by the C library's start
    }
    // a fault where nothing is ends the program
    let fatal = code.pages.iter().filter(|(page, _)| !touches.has(*page)).count() as u64;
    touches.faults() + Faults::exactly(refused_clears(started.elf) + fatal)
}

/// How often the kernel tries to clear what cannot be written to. It goes on after the fault.
fn refused_clears(elf: &Elf) -> u64 {
    let is_refused = |s: &&Segment| {
        let end = s.address.saturating_add(s.file_size);
        s.memory_size > s.file_size && !s.flags.contains('w') && !end.is_multiple_of(PAGE)
    };
    elf.loads().filter(is_refused).count() as u64
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
    functions(bytes, &EARLY_FUNCTIONS, true, &mut touches);
    functions(bytes, &START_FUNCTIONS, false, &mut touches);
    if prints {
        functions(bytes, &PRINT_FUNCTIONS, false, &mut touches);
    }
    touches.faults() + LIBC_VARIABLES + LIBC_OWN + if prints { HEAP } else { Faults::default() }
}

/// Variables behind the file's part: of the first thread, of malloc, of exit.
const LIBC_VARIABLES: Faults = Faults::between(3, 6);
/// Functions and constants that have no exported name.
const LIBC_OWN: Faults = Faults::expected(2);
/// The first pages that malloc uses.
const HEAP: Faults = Faults::expected(2);

/// The loader itself: all its code, its variables, the stack below it, and the memory that it asks for.
pub(super) fn loader(interpreter: &Interpreter, loading: &Loading) -> Faults {
    let Some(elf) = &interpreter.elf else { return Faults::default() };
    let mut touches = Touches::new(elf);
    clear_rest(elf, &mut touches);
    if runtime::is_musl(&interpreter.path) {
        linked(elf, &interpreter.bytes, &mut touches);
        return touches.faults() + Faults::between(4, 12);
    }
    for segment in elf.loads() {
        touches.range(segment.address, segment.file_size, segment.flags.contains('w'), true);
    }
    linked(elf, &interpreter.bytes, &mut touches);
    // the vDSO, and the stack
    let memory = Faults::between(loading.memory_pages, loading.memory_pages + 2);
    let cache = if loading.reads_cache { Faults::exactly(1) } else { Faults::default() };
    touches.faults().with_up_to(UNTOUCHED) + memory + cache
}

/// How many pieces of its code and of its variables a start may leave alone.
const UNTOUCHED: u64 = 2;

/// The kernel or the loader clears the rest of the last page of the file's part.
fn clear_rest(elf: &Elf, touches: &mut Touches) {
    for segment in elf.loads().filter(|s| s.memory_size > s.file_size && s.flags.contains('w')) {
        let end = segment.address.saturating_add(segment.file_size);
        if !end.is_multiple_of(PAGE) {
            touches.address(end, true, true);
        }
    }
}

/// The headers are at the start of the file.
fn headers_address(elf: &Elf) -> u64 {
    elf.loads().find(|s| s.offset == 0).map_or(0, |s| s.address)
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

fn functions(bytes: &[u8], names: &[&str], are_certain: bool, touches: &mut Touches) {
    let Ok(file) = object::File::parse(bytes) else { return };
    for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_definition) {
        if symbol.name().is_ok_and(|name| names.contains(&name)) {
            touches.address(symbol.address(), false, are_certain);
        }
    }
}
