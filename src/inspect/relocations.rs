//! Counts relocations: the places that the dynamic loader must patch before the program can run.

use object::elf;
use serde::Serialize;

/// How many relocations of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Relocations {
    /// The loader adds the load address, without a lookup.
    pub relative: u64,
    /// Those of them that are packed as `DT_RELR`.
    pub relative_packed: u64,
    /// The loader looks up the address of a symbol by its name.
    pub symbolic: u64,
    /// The same for functions that are called through the PLT, at the start (`BIND_NOW`) or at the first call.
    pub jump_slot: u64,
    /// The loader calls a function, an ifunc, which returns the address.
    pub irelative: u64,
    /// The loader copies a variable of a library into the program.
    pub copy: u64,
    pub thread_local: u64,
    /// Unknown types.
    pub other: u64,
}

impl Relocations {
    pub fn total(&self) -> u64 {
        self.relative
            + self.symbolic
            + self.jump_slot
            + self.irelative
            + self.copy
            + self.thread_local
            + self.other
    }

    /// Counts one relocation of this type.
    pub(super) fn count(&mut self, machine: u16, kind: u32) {
        let counted = match machine {
            elf::EM_X86_64 => self.x86_64(kind),
            elf::EM_386 => self.i386(kind),
            elf::EM_AARCH64 => self.aarch64(kind),
            elf::EM_RISCV => self.riscv(kind),
            _ => &mut self.other,
        };
        *counted += 1;
    }

    fn x86_64(&mut self, kind: u32) -> &mut u64 {
        match kind {
            elf::R_X86_64_RELATIVE | elf::R_X86_64_RELATIVE64 => &mut self.relative,
            elf::R_X86_64_64 | elf::R_X86_64_32 | elf::R_X86_64_GLOB_DAT => &mut self.symbolic,
            elf::R_X86_64_JUMP_SLOT => &mut self.jump_slot,
            elf::R_X86_64_IRELATIVE => &mut self.irelative,
            elf::R_X86_64_COPY => &mut self.copy,
            elf::R_X86_64_DTPMOD64
            | elf::R_X86_64_DTPOFF64
            | elf::R_X86_64_TPOFF64
            | elf::R_X86_64_TLSDESC => &mut self.thread_local,
            _ => &mut self.other,
        }
    }

    fn i386(&mut self, kind: u32) -> &mut u64 {
        match kind {
            elf::R_386_RELATIVE => &mut self.relative,
            elf::R_386_32 | elf::R_386_PC32 | elf::R_386_GLOB_DAT => &mut self.symbolic,
            elf::R_386_JMP_SLOT => &mut self.jump_slot,
            elf::R_386_IRELATIVE => &mut self.irelative,
            elf::R_386_COPY => &mut self.copy,
            elf::R_386_TLS_TPOFF
            | elf::R_386_TLS_DTPMOD32
            | elf::R_386_TLS_DTPOFF32
            | elf::R_386_TLS_TPOFF32
            | elf::R_386_TLS_DESC => &mut self.thread_local,
            _ => &mut self.other,
        }
    }

    fn aarch64(&mut self, kind: u32) -> &mut u64 {
        match kind {
            elf::R_AARCH64_RELATIVE => &mut self.relative,
            elf::R_AARCH64_ABS64 | elf::R_AARCH64_GLOB_DAT => &mut self.symbolic,
            elf::R_AARCH64_JUMP_SLOT => &mut self.jump_slot,
            elf::R_AARCH64_IRELATIVE => &mut self.irelative,
            elf::R_AARCH64_COPY => &mut self.copy,
            elf::R_AARCH64_TLS_DTPMOD
            | elf::R_AARCH64_TLS_DTPREL
            | elf::R_AARCH64_TLS_TPREL
            | elf::R_AARCH64_TLSDESC => &mut self.thread_local,
            _ => &mut self.other,
        }
    }

    fn riscv(&mut self, kind: u32) -> &mut u64 {
        match kind {
            elf::R_RISCV_RELATIVE => &mut self.relative,
            elf::R_RISCV_32 | elf::R_RISCV_64 => &mut self.symbolic,
            elf::R_RISCV_JUMP_SLOT => &mut self.jump_slot,
            58 => &mut self.irelative, // R_RISCV_IRELATIVE
            elf::R_RISCV_COPY => &mut self.copy,
            elf::R_RISCV_TLS_DTPMOD32..=elf::R_RISCV_TLS_TPREL64 => &mut self.thread_local,
            _ => &mut self.other,
        }
    }

    /// Counts a table of `DT_RELR`. An even word is an address; an odd word is a bitmap of the words that follow.
    pub(super) fn count_packed(&mut self, words: impl Iterator<Item = u64>) {
        for word in words {
            let relocations = if word & 1 == 0 { 1 } else { u64::from(word.count_ones()) - 1 };
            self.relative += relocations;
            self.relative_packed += relocations;
        }
    }
}
