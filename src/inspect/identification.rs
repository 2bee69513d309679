//! Executables whose identification bytes are not as they should be, and which the kernel runs all the same.
//!
//! `load_elf_binary` of `fs/binfmt_elf.c` demands the magic number, a type, a machine, and the size and number of the
//! program headers; `e_machine` chooses the loader, so that nobody looks at `EI_CLASS`, `EI_DATA` and `EI_VERSION` (but
//! riscv's `elf_check_arch`, at the class). Where a file ends within the ELF header, it reads zeroes.

use object::elf;
use std::ops::Range;

/// What the kernel reads of a file before it decides, in bytes (`BINPRM_BUF_SIZE`).
const READ: usize = 256;
/// The most bytes of program headers that it takes (`load_elf_phdrs`).
const LONGEST_TABLE: usize = 65_536;

/// A file with the identification bytes that its machine's files have.
pub(super) struct Mended {
    /// The file, padded to a whole ELF header, with a copy of the program headers at its end: they may lie over the
    /// bytes that are mended.
    pub(super) bytes: Vec<u8>,
    /// Where the program headers end in the file itself.
    pub(super) headers_end: u64,
    /// What was unusual: one line.
    pub(super) note: String,
}

/// Where the fields are that the kernel looks at: offsets in bytes.
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

/// `None` where the identification is as it should be, or the kernel would refuse the file.
pub(super) fn mended(bytes: &[u8]) -> Option<Mended> {
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
        "it ends within its ELF header: the kernel reads zeroes there".to_owned()
    } else {
        let [class, order, version] = [start[4], start[5], start[6]];
        format!(
            "its identification bytes are unusual (class {class}, byte order {order}, version {version}): \
             the kernel goes by the machine, and runs it"
        )
    };
    let mut mended = bytes.to_vec();
    mended.resize(bytes.len().max(layout.size_of_file_header), 0);
    let copy = mended.len() as u64;
    mended.extend(&bytes[table.clone()]);
    mended[4..7].copy_from_slice(&usual);
    let width = layout.offset_width();
    mended[layout.header_offset..][..width].copy_from_slice(&copy.to_le_bytes()[..width]);
    Some(Mended { bytes: mended, headers_end: table.end as u64, note })
}

/// By the machine, as each kernel's `elf_check_arch` does.
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

/// Where the program headers are in the file; `None` where the kernel would not load it.
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
        && (1..=LONGEST_TABLE).contains(&size);
    is_taken.then_some(offset..end)
}

fn number(start: &[u8; READ], at: usize) -> u16 {
    u16::from_le_bytes([start[at], start[at + 1]])
}
