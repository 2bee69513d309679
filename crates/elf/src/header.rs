//! The fields of the ELF header and the program header, and how Linux uses each.
//!
//! Sources: elf(5); `load_elf_binary` and `elf_load` in `fs/binfmt_elf.c`. Each "ignored" was also tested by changing
//! the bytes and running the file (x86 on 6.18, arm64 on 6.1 and 6.12).

use super::architecture::Class;

/// One field of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in elf.h.
    pub name: &'static str,
    /// The offset from the start of its header, in bytes.
    pub offset: usize,
    /// The length in bytes.
    pub size: usize,
    /// How the kernel uses it.
    pub kernel: &'static str,
}

const fn field(name: &'static str, size: usize, kernel: &'static str) -> Field {
    Field { name, offset: 0, size, kernel }
}

/// Fields that follow each other without gaps.
const fn laid_out<const N: usize>(mut fields: [Field; N]) -> [Field; N] {
    let mut i = 1;
    while i < N {
        fields[i].offset = fields[i - 1].offset + fields[i - 1].size;
        i += 1;
    }
    fields
}

const MAGIC: &str = "must be 7f 'E' 'L' 'F'";
const CLASS: &str = "ignored on x86 and arm64 (e_machine chooses the loader); riscv checks it";
const IDENT: &str = "ignored; qemu-user checks it";
const PADDING: &str = "ignored";
const TYPE: &str = "2 = ET_EXEC, loaded where p_vaddr says; 3 = ET_DYN, loaded anywhere";
const MACHINE: &str = "chooses the loader: must be this architecture's number";
const ENTRY: &str = "the address of the first instruction";
const PHOFF: &str = "where the program headers are in the file";
const EHSIZE: &str = "ignored; qemu-user requires the true size";
const PHENTSIZE: &str = "must be the size of a program header";
const PHNUM: &str = "number of program headers, at least 1";
const P_TYPE: &str = "1 = PT_LOAD: map this part of the file";
const P_FLAGS: &str = "4 read, 2 write, 1 execute; the other 29 bits are ignored";
const P_OFFSET: &str = "where the part starts in the file; equal to p_vaddr modulo the page size";
const P_VADDR: &str = "the address to map it at, rounded down to a page";
const P_FILESZ: &str = "bytes to map from the file; those past its end only matter when touched";
const P_MEMSZ: &str = "bytes of memory, at least p_filesz; pages beyond the file's are zero";
const P_ALIGN: &str = "ignored for ET_EXEC; for ET_DYN used if it is a power of two";

/// The ELF header; its addresses have `word` bytes.
const fn elf_header_of(word: usize) -> [Field; 17] {
    laid_out([
        field("EI_MAG", 4, MAGIC),
        field("EI_CLASS", 1, CLASS),
        field("EI_DATA", 1, IDENT),
        field("EI_VERSION", 1, IDENT),
        field("EI_PAD", 9, PADDING),
        field("e_type", 2, TYPE),
        field("e_machine", 2, MACHINE),
        field("e_version", 4, PADDING),
        field("e_entry", word, ENTRY),
        field("e_phoff", word, PHOFF),
        field("e_shoff", word, PADDING),
        field("e_flags", 4, PADDING),
        field("e_ehsize", 2, EHSIZE),
        field("e_phentsize", 2, PHENTSIZE),
        field("e_phnum", 2, PHNUM),
        field("e_shentsize", 2, PADDING),
        field("e_shnum", 4, PADDING),
    ])
}

/// The 64-bit ELF header.
pub const EHDR64: [Field; 17] = elf_header_of(8);

/// The 32-bit ELF header.
pub const EHDR32: [Field; 17] = elf_header_of(4);

/// The 64-bit program header.
pub const PHDR64: [Field; 8] = laid_out([
    field("p_type", 4, P_TYPE),
    field("p_flags", 4, P_FLAGS),
    field("p_offset", 8, P_OFFSET),
    field("p_vaddr", 8, P_VADDR),
    field("p_paddr", 8, PADDING),
    field("p_filesz", 8, P_FILESZ),
    field("p_memsz", 8, P_MEMSZ),
    field("p_align", 8, P_ALIGN),
]);

/// The 32-bit program header.
pub const PHDR32: [Field; 8] = laid_out([
    field("p_type", 4, P_TYPE),
    field("p_offset", 4, P_OFFSET),
    field("p_vaddr", 4, P_VADDR),
    field("p_paddr", 4, PADDING),
    field("p_filesz", 4, P_FILESZ),
    field("p_memsz", 4, P_MEMSZ),
    field("p_flags", 4, P_FLAGS),
    field("p_align", 4, P_ALIGN),
]);

/// The fields of the ELF header.
pub fn elf_header(class: Class) -> &'static [Field] {
    match class {
        Class::Bits32 => &EHDR32,
        Class::Bits64 => &EHDR64,
    }
}

/// The fields of a program header.
pub fn program_header(class: Class) -> &'static [Field] {
    match class {
        Class::Bits32 => &PHDR32,
        Class::Bits64 => &PHDR64,
    }
}

/// The length of a header in bytes.
pub fn size(fields: &[Field]) -> usize {
    fields.last().map_or(0, |last| last.offset + last.size)
}

/// The field with this name.
///
/// # Panics
/// If the header has no such field. Names come from this program, never from its input.
pub fn named(fields: &'static [Field], name: &str) -> Field {
    *fields.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no header field `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_have_the_sizes_of_elf_h() {
        assert_eq!((size(&EHDR64), size(&PHDR64)), (64, 56));
        assert_eq!((size(&EHDR32), size(&PHDR32)), (52, 32));
    }
}
