//! The system calls for one library that was found: to read it, to map it, and to protect it after relocation.

use super::version::Version;
use crate::inspect::dynamic::Dynamic;
use crate::inspect::headers::{Elf, PAGE, Segment};

/// How much of a file the loader reads first.
const FIRST_READ_BYTES: u64 = 832;

/// What one library costs, and whether that is all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Calls {
    pub(super) count: u64,
    pub(super) is_exact: bool,
}

/// open and read, and preads of what is not in the first bytes (`open_verify`). The file is for this machine.
pub(super) fn to_verify(elf: &Elf, version: Version) -> u64 {
    let headers = u64::from(elf.headers_end > FIRST_READ_BYTES);
    2 + headers + if version.reads_notes() { notes(elf) } else { 0 }
}

/// The notes that are read one by one until the one that names the ABI.
fn notes(elf: &Elf) -> u64 {
    let is_read = |s: &&Segment| s.kind == "NOTE" && s.file_size >= 32 && matches!(s.align, 4 | 8);
    let notes: Vec<&Segment> = elf.segments.iter().filter(is_read).collect();
    let until = notes.iter().position(|s| {
        elf.abi_note.is_some_and(|at| (s.offset..s.offset.saturating_add(s.file_size)).contains(&at))
    });
    let read = &notes[..until.map_or(notes.len(), |last| last + 1)];
    read.iter().filter(|s| s.offset.saturating_add(s.file_size) > FIRST_READ_BYTES).count() as u64
}

/// fstat, another pread of the headers, a mapping for each segment, close, and at last the protection of what was relocated.
pub(super) fn to_map(elf: &Elf) -> Calls {
    let headers = u64::from(elf.headers_end > FIRST_READ_BYTES);
    let loads: Vec<&Segment> = elf.segments.iter().filter(|s| s.kind == "LOAD").collect();
    let mapped = |s: &&&Segment| s.file_pages > 0;
    let is_first = loads.first().is_some_and(|s| s.file_pages == 0);
    let mappings = loads.iter().filter(mapped).count() as u64 + u64::from(is_first);
    let zeroes = loads.iter().filter(|s| s.zero_pages > 0).count() as u64;
    let holes = u64::from(loads.windows(2).any(|pair| file_end(pair[0]) != pair[1].address / PAGE * PAGE));
    let text = if elf.dynamic.as_ref().is_some_and(Dynamic::relocates_text) { 2 } else { 0 };

    // a reservation that is cut at one end or at both, which depends on the address
    let is_aligned_more = loads.iter().any(|s| s.align > PAGE);
    let has_stack = elf.segments.iter().any(|s| s.kind == "GNU_STACK" && !s.flags.contains('x'));
    Calls {
        count: 1
            + headers
            + mappings
            + zeroes
            + holes
            + 1
            + text
            + protection(elf)
            + 2 * u64::from(is_aligned_more),
        is_exact: has_stack && !is_aligned_more && text == 0,
    }
}

fn file_end(segment: &Segment) -> u64 {
    segment.address.saturating_add(segment.file_size).div_ceil(PAGE).saturating_mul(PAGE)
}

/// One mprotect, if there is a whole page (`_dl_protect_relro`).
pub(super) fn protection(elf: &Elf) -> u64 {
    let is_page = |s: &Segment| s.address / PAGE != s.address.saturating_add(s.memory_size) / PAGE;
    u64::from(elf.segments.iter().rfind(|s| s.kind == "GNU_RELRO").is_some_and(is_page))
}
