//! What Linux requires of each header field, as constraints on the bytes of the file.
//!
//! The program header can be anywhere, so most bytes must satisfy a field of each header at the same time. [`header`]
//! says which fields are ignored. These are the rules for the others:
//!
//! - The segment maps the first page of the file. `p_offset` is within it, and equals `p_vaddr` modulo the page size.
//! - The file is mapped at a multiple of 64 KiB (the largest page size), at 64 KiB or above (`vm.mmap_min_addr`), and
//!   below 2^38 (39-bit address spaces) or, on i386, 0xb0000000.
//! - The segment is readable and executable, but not writable. Pages of the file that nothing touches then cost nothing
//!   and are not counted against the machine's memory, and the rest of the last page does not have to be zeroed.
//! - `p_filesz` and `p_memsz` can therefore be far larger than the file, up to [`Demands::largest_file_map`]. Zero
//!   pages after `p_filesz` are counted against the memory, with the limit [`Demands::largest_zero_map`].

use super::cells::Cells;
use crate::architecture::{Architecture, Class};
use crate::header;
use crate::header::Field;

/// Where a packed executable must run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Demands {
    /// Only real kernels must run it. qemu-user, which checks more of the header, may refuse it.
    pub real_kernels_only: bool,
    /// Up to 2 GiB of memory may be mapped. The kernel commits to it, but none of it is touched.
    pub large_mappings: bool,
    /// Try every possible arrangement (minutes), not only those that were best in an earlier exhaustive search.
    pub exhaustive: bool,
}

impl Demands {
    /// The longest mapping of the file in bytes.
    fn largest_file_map(self) -> u64 {
        if self.large_mappings { 2 << 30 } else { 1 << 30 }
    }

    /// The longest mapping of zero pages in bytes.
    fn largest_zero_map(self) -> u64 {
        if self.large_mappings { 2 << 30 } else { 128 << 20 }
    }
}

/// The page size that the search assumes: the smallest one, so that the result also holds for larger pages.
const PAGE: u64 = 4096;

/// The end of the user space that may be used.
fn address_limit(class: Class) -> u64 {
    match class {
        Class::Bits32 => 0xb000_0000,
        Class::Bits64 => 1 << 38,
    }
}

/// One arrangement of the headers.
#[derive(Clone, Copy)]
pub(super) struct Arrangement {
    pub(super) architecture: Architecture,
    pub(super) demands: Demands,
    /// File offset of the program header.
    pub(super) program_header: usize,
    /// The file can be loaded anywhere (`ET_DYN`) instead of at a fixed address (`ET_EXEC`).
    pub(super) anywhere: bool,
    /// Length of the file.
    pub(super) file_size: usize,
}

impl Arrangement {
    /// A field of the ELF header, with its offset in the file.
    pub(super) fn elf_field(&self, name: &str) -> Field {
        header::named(header::elf_header(self.architecture.class()), name)
    }

    /// A field of the program header, with its offset in the file.
    pub(super) fn segment_field(&self, name: &str) -> Field {
        let field = header::named(header::program_header(self.architecture.class()), name);
        Field { offset: field.offset + self.program_header, ..field }
    }

    /// The bytes whose values decide whether the file can be loaded. Only the highest bytes of sizes and addresses
    /// matter, because the limits are multiples of 16 MiB.
    pub(super) fn constrained_bytes(&self) -> Vec<usize> {
        let fields = [
            ("p_flags", 0),
            ("p_offset", 0),
            ("p_offset", 1),
            ("p_filesz", 3),
            ("p_memsz", 3),
            ("p_vaddr", 3),
        ];
        let segment = fields.map(|(name, byte)| self.segment_field(name).offset + byte);
        let bytes = segment.into_iter().chain([self.elf_field("e_entry").offset]);
        bytes.filter(|&at| at < self.file_size).collect()
    }

    /// The file with all bytes that the headers fix. `None` if the headers contradict each other.
    pub(super) fn cells(&self) -> Option<Cells> {
        let mut cells = Cells::new(self.file_size);
        for (name, value) in self.fixed_elf_fields() {
            self.fix_elf_field(&mut cells, self.elf_field(name), value)?;
        }
        let fixed = self.fixed_segment_bytes(&mut cells) && self.link_addresses(&mut cells);
        fixed.then_some(cells)
    }

    fn fixed_elf_fields(&self) -> Vec<(&'static str, u64)> {
        let class = self.architecture.class();
        let magic = u64::from(u32::from_le_bytes(*b"\x7fELF"));
        let mut fields = vec![
            ("EI_MAG", magic),
            ("e_type", if self.anywhere { 3 } else { 2 }),
            ("e_machine", self.architecture.e_machine().into()),
            ("e_phoff", self.program_header as u64),
            ("e_phentsize", header::size(header::program_header(class)) as u64),
            ("e_phnum", 1),
        ];

        let qemu = !self.demands.real_kernels_only && self.architecture.is_emulated();
        if qemu || self.architecture == Architecture::Riscv64 {
            fields.push(("EI_CLASS", 2));
        }
        if qemu {
            let elf_header_size = header::size(header::elf_header(class)) as u64;
            fields.extend([("EI_DATA", 1), ("EI_VERSION", 1), ("e_ehsize", elf_header_size)]);
        }
        fields
    }

    /// If the file ends within the ELF header, the kernel reads zeros for the rest (`BINPRM_BUF_SIZE`).
    fn fix_elf_field(&self, cells: &mut Cells, field: Field, value: u64) -> Option<()> {
        for (i, &byte) in value.to_le_bytes()[..field.size].iter().enumerate() {
            let at = field.offset + i;
            let fixed = if at < self.file_size { cells.set(at, byte) } else { byte == 0 };
            fixed.then_some(())?;
        }
        Some(())
    }

    fn fixed_segment_bytes(&self, cells: &mut Cells) -> bool {
        let p_type = self.segment_field("p_type");
        let p_offset = self.segment_field("p_offset");
        let mut fixed = cells.set_number(p_type.offset, p_type.size, 1);
        fixed = fixed && (2..p_offset.size).all(|i| cells.set(p_offset.offset + i, 0));
        if self.architecture.class() == Class::Bits64 {
            for name in ["p_filesz", "p_memsz"] {
                fixed = fixed && cells.set_all(self.segment_field(name).offset + 4, &[0; 4]);
            }
            fixed = fixed && cells.set_all(self.segment_field("p_vaddr").offset + 5, &[0; 3]);
        }
        fixed
    }

    /// `e_entry` and `p_vaddr` are equal except in their low 16 bits. In these `p_vaddr` and `p_offset` are equal.
    fn link_addresses(&self, cells: &mut Cells) -> bool {
        let entry = self.elf_field("e_entry");
        let address = self.segment_field("p_vaddr").offset;
        let p_offset = self.segment_field("p_offset").offset;
        cells.set(entry.offset + 1, 0)
            && (2..entry.size).all(|i| cells.link(entry.offset + i, address + i))
            && (0..2).all(|i| cells.link(address + i, p_offset + i))
    }

    /// Where the file is mapped; meaningful once all is decided.
    fn base(&self, cells: &Cells) -> u64 {
        let address = self.segment_field("p_vaddr");
        cells.number(address.offset, address.size, 0) & !0xffff
    }

    /// Decides the open bytes of the constrained fields. `None` if that is impossible.
    pub(super) fn finish(&self, cells: &Cells) -> Option<Cells> {
        let p_filesz = self.segment_field("p_filesz");
        let known = cells.number(p_filesz.offset, p_filesz.size, 0);
        [0x1_0000, known].into_iter().find_map(|least| self.finish_from(cells, least))
    }

    fn finish_from(&self, cells: &Cells, least_base: u64) -> Option<Cells> {
        let mut cells = cells.clone();
        let flags = self.segment_field("p_flags").offset;
        if cells.is_free(flags) && !cells.set(flags, 5) {
            return None;
        }
        let address = self.segment_field("p_vaddr");
        for i in 0..2 {
            let byte = cells.get(address.offset + i).unwrap_or(0);
            (cells.set(address.offset + i, byte)).then_some(())?;
        }
        let base = cells.least(address.offset, address.size, least_base)?;
        let filled = cells.set_number(address.offset, address.size, base) && self.fill_sizes(&mut cells);
        (filled && self.is_loadable(&cells)).then_some(cells)
    }

    /// Makes both sizes equal if possible. Then there is nothing to zero.
    fn fill_sizes(&self, cells: &mut Cells) -> bool {
        let file = self.segment_field("p_filesz");
        let memory = self.segment_field("p_memsz");
        let mut equal = cells.clone();
        let least = self.least_file_map(cells);
        if (0..file.size).all(|i| equal.link(file.offset + i, memory.offset + i))
            && let Some(size) = equal.least(file.offset, file.size, least)
            && equal.set_number(file.offset, file.size, size)
        {
            *cells = equal;
            return true;
        }
        let Some(size) = cells.least(file.offset, file.size, least) else { return false };
        if !cells.set_number(file.offset, file.size, size) {
            return false;
        }
        let Some(size) = cells.least(memory.offset, memory.size, size) else { return false };
        cells.set_number(memory.offset, memory.size, size)
    }

    /// The smallest possible `p_filesz`. A file of one page is mapped completely, however small the mapping is.
    fn least_file_map(&self, cells: &Cells) -> u64 {
        let p_offset = self.segment_field("p_offset");
        let offset = cells.number(p_offset.offset, p_offset.size, 0);
        if self.file_size as u64 <= PAGE { 1 } else { (self.file_size as u64).saturating_sub(offset) }
    }

    /// For an i386 program without `PT_GNU_STACK`, readable implies executable (`READ_IMPLIES_EXEC`).
    fn is_executable(&self, p_flags: u64) -> bool {
        p_flags & 7 == 5 || p_flags & 7 == 4 && self.architecture == Architecture::I386
    }

    fn is_loadable(&self, cells: &Cells) -> bool {
        let value = |name: &str| {
            let field = self.segment_field(name);
            cells.number(field.offset, field.size, 0)
        };
        let (file, memory, base) = (value("p_filesz"), value("p_memsz"), self.base(cells));
        let mapped_from_file = (value("p_offset") + file).next_multiple_of(PAGE);
        let mapped = (value("p_offset") + memory).next_multiple_of(PAGE);
        self.is_executable(value("p_flags"))
            && value("p_offset") < PAGE
            && file >= self.least_file_map(cells)
            && file <= memory
            && mapped_from_file <= self.demands.largest_file_map()
            && mapped - mapped_from_file <= self.demands.largest_zero_map()
            && (self.anywhere || base >= 0x1_0000)
            && base + mapped <= address_limit(self.architecture.class())
    }
}
