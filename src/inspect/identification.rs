//! Executables with unusual identification bytes that the kernel runs.
//!
//! `load_elf_binary` of `fs/binfmt_elf.c` checks the magic number, the type, the machine, and the size and number of the
//! program headers. `e_machine` chooses the loader, so nothing checks `EI_CLASS`, `EI_DATA` and `EI_VERSION`, except that
//! riscv's `elf_check_arch` checks the class. If a file ends inside the ELF header, the kernel reads zeroes there.

use object::elf;
use std::ops::Range;

/// How many bytes of a file the kernel reads before it decides (`BINPRM_BUF_SIZE`).
const READ: usize = 256;
/// The largest size of the program headers that it accepts, in bytes (`load_elf_phdrs`).
const MAX_TABLE_BYTES: usize = 65_536;

/// A file with the usual identification bytes of its machine.
pub(super) struct Repaired {
    /// The file, padded to a whole ELF header, with a copy of the program headers at the end, because the originals may overlap
    /// the repaired bytes.
    pub(super) bytes: Vec<u8>,
    /// Where the program headers end in the original file.
    pub(super) headers_end: u64,
    /// One line about what is unusual.
    pub(super) note: String,
}

/// The offsets of the fields that the kernel checks, and the sizes of the headers, in bytes.
struct HeaderLayout {
    class: u8,
    header_offset: usize,
    header_size: usize,
    header_count: usize,
    size_of_header: usize,
    size_of_file_header: usize,
}

impl HeaderLayout {
    /// The size of `e_phoff`, in bytes.
    fn offset_width(&self) -> usize {
        if self.class == elf::ELFCLASS64 { 8 } else { 4 }
    }
}

const NARROW: HeaderLayout = HeaderLayout {
    class: elf::ELFCLASS32,
    header_offset: 28,
    header_size: 42,
    header_count: 44,
    size_of_header: 32,
    size_of_file_header: 52,
};
const WIDE: HeaderLayout = HeaderLayout {
    class: elf::ELFCLASS64,
    header_offset: 32,
    header_size: 54,
    header_count: 56,
    size_of_header: 56,
    size_of_file_header: 64,
};

/// `None` if the identification bytes are as usual, or if the kernel would refuse the file.
pub(super) fn repaired(bytes: &[u8]) -> Option<Repaired> {
    let mut start = [0; READ];
    let read = bytes.len().min(READ);
    start[..read].copy_from_slice(&bytes[..read]);
    let layout = layout(&start)?;

    let usual = [layout.class, elf::ELFDATA2LSB, elf::EV_CURRENT];
    let is_whole = bytes.len() >= layout.size_of_file_header;
    if start[4..7] == usual && is_whole {
        return None;
    }

    let table = table(&start, bytes.len(), &layout)?;
    let note = if start[4..7] == usual {
        "it ends inside its ELF header, and the kernel reads zeros there".to_owned()
    } else {
        let [class, order, version] = [start[4], start[5], start[6]];
        format!(
            "its identification bytes are unusual (class {class}, byte order {order}, version {version}), \
             but the kernel goes by the machine and runs it"
        )
    };

    let mut repaired = bytes.to_vec();
    repaired.resize(bytes.len().max(layout.size_of_file_header), 0);
    let copy = repaired.len() as u64;
    repaired.extend(&bytes[table.clone()]);
    repaired[4..7].copy_from_slice(&usual);
    let width = layout.offset_width();
    repaired[layout.header_offset..][..width].copy_from_slice(&copy.to_le_bytes()[..width]);
    Some(Repaired { bytes: repaired, headers_end: table.end as u64, note })
}

/// The layout for the machine, as `elf_check_arch` of each architecture chooses it.
fn layout(start: &[u8; READ]) -> Option<HeaderLayout> {
    let class = start[4];
    match number(start, 18) {
        _ if !start.starts_with(&elf::ELFMAG) => None,
        elf::EM_X86_64 | elf::EM_AARCH64 => Some(WIDE),
        elf::EM_386 => Some(NARROW),
        elf::EM_RISCV if class == elf::ELFCLASS64 => Some(WIDE),
        elf::EM_RISCV if class == elf::ELFCLASS32 => Some(NARROW),
        _ => None,
    }
}

/// Where the program headers are in the file; `None` if the kernel would not load it.
fn table(start: &[u8; READ], length: usize, layout: &HeaderLayout) -> Option<Range<usize>> {
    let count = usize::from(number(start, layout.header_count));
    let size = count * layout.size_of_header;
    let mut offset = [0; 8];
    let width = layout.offset_width();
    offset[..width].copy_from_slice(&start[layout.header_offset..][..width]);
    let offset = usize::try_from(u64::from_le_bytes(offset)).ok()?;
    let end = offset.checked_add(size).filter(|end| *end <= length)?;
    let is_taken = matches!(number(start, 16), elf::ET_EXEC | elf::ET_DYN)
        && usize::from(number(start, layout.header_size)) == layout.size_of_header
        && (1..=MAX_TABLE_BYTES).contains(&size);
    is_taken.then_some(offset..end)
}

fn number(start: &[u8; READ], at: usize) -> u16 {
    u16::from_le_bytes([start[at], start[at + 1]])
}
