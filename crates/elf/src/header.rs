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

const fn field(name: &'static str, offset: usize, size: usize, kernel: &'static str) -> Field {
    Field { name, offset, size, kernel }
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

/// The 64-bit ELF header.
pub const EHDR64: [Field; 17] = [
    field("EI_MAG", 0, 4, MAGIC),
    field("EI_CLASS", 4, 1, CLASS),
    field("EI_DATA", 5, 1, IDENT),
    field("EI_VERSION", 6, 1, IDENT),
    field("EI_PAD", 7, 9, PADDING),
    field("e_type", 16, 2, TYPE),
    field("e_machine", 18, 2, MACHINE),
    field("e_version", 20, 4, PADDING),
    field("e_entry", 24, 8, ENTRY),
    field("e_phoff", 32, 8, PHOFF),
    field("e_shoff", 40, 8, PADDING),
    field("e_flags", 48, 4, PADDING),
    field("e_ehsize", 52, 2, EHSIZE),
    field("e_phentsize", 54, 2, PHENTSIZE),
    field("e_phnum", 56, 2, PHNUM),
    field("e_shentsize", 58, 2, PADDING),
    field("e_shnum", 60, 4, PADDING),
];

/// The 64-bit program header.
pub const PHDR64: [Field; 8] = [
    field("p_type", 0, 4, P_TYPE),
    field("p_flags", 4, 4, P_FLAGS),
    field("p_offset", 8, 8, P_OFFSET),
    field("p_vaddr", 16, 8, P_VADDR),
    field("p_paddr", 24, 8, PADDING),
    field("p_filesz", 32, 8, P_FILESZ),
    field("p_memsz", 40, 8, P_MEMSZ),
    field("p_align", 48, 8, P_ALIGN),
];

/// The 32-bit ELF header.
pub const EHDR32: [Field; 17] = [
    field("EI_MAG", 0, 4, MAGIC),
    field("EI_CLASS", 4, 1, CLASS),
    field("EI_DATA", 5, 1, IDENT),
    field("EI_VERSION", 6, 1, IDENT),
    field("EI_PAD", 7, 9, PADDING),
    field("e_type", 16, 2, TYPE),
    field("e_machine", 18, 2, MACHINE),
    field("e_version", 20, 4, PADDING),
    field("e_entry", 24, 4, ENTRY),
    field("e_phoff", 28, 4, PHOFF),
    field("e_shoff", 32, 4, PADDING),
    field("e_flags", 36, 4, PADDING),
    field("e_ehsize", 40, 2, EHSIZE),
    field("e_phentsize", 42, 2, PHENTSIZE),
    field("e_phnum", 44, 2, PHNUM),
    field("e_shentsize", 46, 2, PADDING),
    field("e_shnum", 48, 4, PADDING),
];

/// The 32-bit program header.
pub const PHDR32: [Field; 8] = [
    field("p_type", 0, 4, P_TYPE),
    field("p_offset", 4, 4, P_OFFSET),
    field("p_vaddr", 8, 4, P_VADDR),
    field("p_paddr", 12, 4, PADDING),
    field("p_filesz", 16, 4, P_FILESZ),
    field("p_memsz", 20, 4, P_MEMSZ),
    field("p_flags", 24, 4, P_FLAGS),
    field("p_align", 28, 4, P_ALIGN),
];

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
    fn the_fields_of_each_header_follow_each_other_without_gaps() {
        for fields in [&EHDR64[..], &PHDR64, &EHDR32, &PHDR32] {
            for pair in fields.windows(2) {
                assert_eq!(pair[0].offset + pair[0].size, pair[1].offset, "{}", pair[1].name);
            }
        }
    }

    #[test]
    fn the_headers_have_the_sizes_of_elf_h() {
        assert_eq!((size(&EHDR64), size(&PHDR64)), (64, 56));
        assert_eq!((size(&EHDR32), size(&PHDR32)), (52, 32));
    }
}
