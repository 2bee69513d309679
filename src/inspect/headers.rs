//! Reads the headers of an ELF file.

use super::dynamic::{self, Dynamic};
use super::file_kind::ElfKind;
use super::identification;
use super::relocations::Relocations;
use super::runtime::{self, Runtime};
use super::symbol_versions;
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable};
use serde::Serialize;

/// A program header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The type as in elf.h, for example `LOAD`.
    pub kind: String,
    /// `r`, `w` and `x`, or `-` for each.
    pub flags: String,
    /// The file offset, in bytes.
    pub offset: u64,
    pub address: u64,
    /// In bytes.
    pub file_size: u64,
    /// In bytes.
    pub memory_size: u64,
    /// The address is a multiple of this plus the offset.
    pub align: u64,
    /// The number of pages that are mapped from the file (LOAD segments only).
    pub file_pages: u64,
    /// The number of zeroed pages behind them.
    pub zero_pages: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elf {
    /// 32 or 64.
    pub class: u8,
    /// `little` or `big`.
    pub byte_order: &'static str,
    /// `e_machine`.
    pub machine: u16,
    pub machine_name: &'static str,
    pub kind: ElfKind,
    /// The dynamic loader that the kernel starts.
    pub interpreter: Option<String>,
    /// The address of the entry point.
    pub entry: u64,
    /// Where the program headers end in the file. The loader reads the file up to here first.
    pub headers_end: u64,
    pub segments: Vec<Segment>,
    pub dynamic: Option<Dynamic>,
    pub relocations: Relocations,
    /// Known for executables only.
    pub runtime: Runtime,
    /// Whether some memory becomes read-only after relocation (`PT_GNU_RELRO`).
    pub relro: bool,
    /// The size of all debug sections, in bytes.
    pub debug_size: u64,
    /// The size of the file, in bytes.
    pub size: u64,
    /// Oddities that do not bother the kernel, one line each.
    pub notes: Vec<String>,
    /// Parts that cannot be read, one line each.
    pub damage: Vec<String>,
    /// The largest number of a symbol version.
    #[serde(skip)]
    pub(super) versions: u64,
    /// The file offset of the note that names the ABI.
    #[serde(skip)]
    pub(super) abi_note: Option<u64>,
}

impl Elf {
    /// The folders in which its libraries are looked for first. A RUNPATH replaces it.
    pub(super) fn rpath(&self) -> Option<&str> {
        self.dynamic.as_ref().filter(|d| d.runpath.is_none())?.rpath.as_deref()
    }

    pub(super) fn runpath(&self) -> Option<&str> {
        self.dynamic.as_ref()?.runpath.as_deref()
    }

    pub(super) fn soname(&self) -> Option<&str> {
        self.dynamic.as_ref()?.soname.as_deref()
    }

    /// The size, the alignment and the address of its thread-local variables.
    pub(super) fn thread_local(&self) -> Option<(u64, u64, u64)> {
        let segment = self.segments.iter().find(|s| s.kind == "TLS" && s.memory_size > 0)?;
        Some((segment.memory_size, segment.align, segment.address))
    }

    pub(super) fn loads(&self) -> impl Iterator<Item = &Segment> + Clone {
        self.segments.iter().filter(|s| s.kind == "LOAD")
    }
}

/// The page size to which segments are rounded.
pub const PAGE: u64 = 4096;

/// What the dynamic loader does with a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Linking {
    pub relocations: Relocations,
    /// Whether the file asks for all its functions to be looked up at the start.
    pub bind_now: bool,
}

impl Linking {
    /// How many symbols are looked up by their name at the start. `always`: `LD_BIND_NOW` is set.
    pub fn lookups(&self, always: bool) -> u64 {
        let Relocations { symbolic, jump_slot, copy, .. } = self.relocations;
        symbolic + copy + jump_slot - self.lazy(always)
    }

    /// How many relocations are done at the start.
    pub fn at_start(&self, always: bool) -> u64 {
        self.relocations.total() - self.lazy(always)
    }

    /// Functions that are looked up when they are called for the first time.
    fn lazy(&self, always: bool) -> u64 {
        if self.bind_now || always { 0 } else { self.relocations.jump_slot }
    }
}

/// What the dynamic loader does with a file; `None`: nothing, or the file is damaged.
pub fn linking(bytes: &[u8]) -> Option<Linking> {
    match bytes.get(4)? {
        1 => linking_of::<elf::FileHeader32<Endianness>>(bytes),
        2 => linking_of::<elf::FileHeader64<Endianness>>(bytes),
        _ => None,
    }
}

fn linking_of<H: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Option<Linking> {
    let header = H::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let programs = header.program_headers(endian, bytes).ok()?;
    let load = |address, size| dynamic::mapped::<H>(programs, endian, bytes, address, size);
    let (mut relocations, mut damage) = (Relocations::default(), Vec::new());
    let dynamic = dynamic::read::<H>(programs, endian, bytes, &load, &mut damage)?;
    dynamic::count_relocations::<H>(&dynamic, header, endian, &load, &mut relocations, &mut damage);
    Some(Linking { relocations, bind_now: dynamic.bind_now })
}

/// Reads the headers. A file with unusual identification bytes is read if the kernel runs it.
///
/// # Errors
/// What is wrong with the ELF header or the program headers. Other damage is in [`Elf::damage`].
pub fn read(bytes: &[u8]) -> Result<Elf, String> {
    if let Some(repaired) = identification::repaired(bytes) {
        let mut elf = read_class_of(&repaired.bytes, false)?;
        (elf.size, elf.headers_end) = (bytes.len() as u64, repaired.headers_end);
        elf.notes.push(repaired.note);
        return Ok(elf);
    }
    read_class_of(bytes, true)
}

fn read_class_of(bytes: &[u8], has_sections: bool) -> Result<Elf, String> {
    match bytes.get(4) {
        Some(1) => read_class::<elf::FileHeader32<Endianness>>(bytes, has_sections),
        Some(2) => read_class::<elf::FileHeader64<Endianness>>(bytes, has_sections),
        Some(other) => Err(format!("its class is {other}, which is neither 32 nor 64 bits")),
        None => Err("it ends inside its first header".to_owned()),
    }
}

fn read_class<H: FileHeader<Endian = Endianness>>(bytes: &[u8], has_sections: bool) -> Result<Elf, String> {
    let header = H::parse(bytes).map_err(|e| e.to_string())?;
    let endian = header.endian().map_err(|e| e.to_string())?;
    let programs = header.program_headers(endian, bytes).map_err(|e| e.to_string())?;
    let mut damage = Vec::new();
    let sections = if has_sections { sections::<H>(header, endian, bytes, &mut damage) } else { None };
    let sections = sections.unwrap_or_default();

    let load = |address, size| dynamic::mapped::<H>(programs, endian, bytes, address, size);
    let dynamic = dynamic::read::<H>(programs, endian, bytes, &load, &mut damage);

    let mut relocations = Relocations::default();
    let machine = header.e_machine(endian);
    if let Some(dynamic) = &dynamic {
        dynamic::count_relocations::<H>(dynamic, header, endian, &load, &mut relocations, &mut damage);
    } else if header.e_type(endian) == elf::ET_EXEC {
        count_static_relocations::<H>(&sections, header, endian, bytes, &mut relocations);
    }

    let interpreter = interpreter::<H>(programs, endian, bytes, &mut damage);
    let is_dynamic = programs.iter().any(|p| p.p_type(endian) == elf::PT_DYNAMIC);
    let is_pie = !is_dynamic || dynamic.as_ref().is_some_and(|d| d.is_pie(interpreter.is_some()));
    let kind = kind::<H>(header, endian, interpreter.is_some(), is_pie, &sections);
    let phoff: u64 = header.e_phoff(endian).into();
    let table = u64::from(header.e_phentsize(endian)) * programs.len() as u64;

    Ok(Elf {
        class: if header.is_type_64() { 64 } else { 32 },
        byte_order: if endian == Endianness::Little { "little" } else { "big" },
        machine,
        machine_name: machine_name(machine),
        kind,
        runtime: {
            let needed = dynamic.as_ref().map_or(&[][..], |d| &d.needed);
            let linked = (interpreter.as_deref(), needed);
            runtime::identify::<H>(kind, linked, programs, &sections, endian, bytes)
        },
        interpreter,
        entry: header.e_entry(endian).into(),
        headers_end: phoff.saturating_add(table),
        segments: programs.iter().map(|p| segment::<H>(p, endian)).collect(),
        relro: programs.iter().any(|p| p.p_type(endian) == elf::PT_GNU_RELRO),
        debug_size: debug_size::<H>(&sections, endian),
        size: bytes.len() as u64,
        versions: dynamic.as_ref().map_or(0, |d| symbol_versions::most(d, &load, endian)),
        abi_note: abi_note::<H>(programs, endian, bytes),
        dynamic,
        relocations,
        notes: Vec::new(),
        damage,
    })
}

/// Only tools read the section headers. A file starts even if they are damaged.
fn sections<'d, H: FileHeader<Endian = Endianness>>(
    header: &H,
    endian: Endianness,
    bytes: &'d [u8],
    damage: &mut Vec<String>,
) -> Option<SectionTable<'d, H>> {
    let error = |error| damage.push(format!("its section headers, which the kernel does not read: {error}"));
    header.sections(endian, bytes).map_err(error).ok()
}

fn noted<T>(result: Result<T, object::Error>, damage: &mut Vec<String>) -> Option<T> {
    result.map_err(|error| damage.push(error.to_string())).ok()
}

fn interpreter<H: FileHeader<Endian = Endianness>>(
    programs: &[H::ProgramHeader],
    endian: Endianness,
    bytes: &[u8],
    damage: &mut Vec<String>,
) -> Option<String> {
    let program = programs.iter().find(|p| p.p_type(endian) == elf::PT_INTERP)?;
    let name = noted(program.interpreter(endian, bytes), damage)??;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// `NT_GNU_ABI_TAG`, which names the kernel that a file is for.
const ABI_TAG: u32 = 1;

fn abi_note<H: FileHeader<Endian = Endianness>>(
    programs: &[H::ProgramHeader],
    endian: Endianness,
    bytes: &[u8],
) -> Option<u64> {
    let is_tag = |program: &&H::ProgramHeader| {
        let Ok(Some(mut notes)) = program.notes(endian, bytes) else { return false };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == b"GNU" && note.n_type(endian) == ABI_TAG {
                return true;
            }
        }
        false
    };
    programs.iter().find(is_tag).map(|program| program.p_offset(endian).into())
}

fn kind<H: FileHeader<Endian = Endianness>>(
    header: &H,
    endian: Endianness,
    has_interpreter: bool,
    is_pie: bool,
    sections: &SectionTable<'_, H>,
) -> ElfKind {
    match header.e_type(endian) {
        elf::ET_EXEC if has_interpreter => ElfKind::Dynamic,
        elf::ET_EXEC => ElfKind::Static,
        elf::ET_DYN if is_pie && has_interpreter => ElfKind::Pie,
        elf::ET_DYN if is_pie => ElfKind::StaticPie,
        elf::ET_DYN => ElfKind::SharedObject,
        elf::ET_REL if sections.section_by_name(endian, b".modinfo").is_some() => ElfKind::KernelModule,
        elf::ET_REL => ElfKind::Relocatable,
        elf::ET_CORE => ElfKind::Core,
        _ => ElfKind::Other,
    }
}

fn segment<H: FileHeader<Endian = Endianness>>(program: &H::ProgramHeader, endian: Endianness) -> Segment {
    let (address, file_size): (u64, u64) = (program.p_vaddr(endian).into(), program.p_filesz(endian).into());
    let memory_size: u64 = program.p_memsz(endian).into();
    let flags = program.p_flags(endian);
    let flag = |bit, letter| if flags & bit == 0 { '-' } else { letter };
    let is_load = program.p_type(endian) == elf::PT_LOAD;

    let first = address / PAGE;
    let pages_to = |size: u64| {
        if size == 0 {
            0
        } else {
            (address.saturating_add(size).saturating_sub(1) / PAGE).saturating_sub(first) + 1
        }
    };
    let (file_pages, pages) = if is_load { (pages_to(file_size), pages_to(memory_size)) } else { (0, 0) };

    Segment {
        kind: segment_name(program.p_type(endian)),
        flags: [flag(elf::PF_R, 'r'), flag(elf::PF_W, 'w'), flag(elf::PF_X, 'x')].iter().collect(),
        offset: program.p_offset(endian).into(),
        address,
        file_size,
        memory_size,
        align: program.p_align(endian).into(),
        file_pages,
        zero_pages: pages.saturating_sub(file_pages),
    }
}

fn segment_name(kind: u32) -> String {
    let name = match kind {
        elf::PT_NULL => "NULL",
        elf::PT_LOAD => "LOAD",
        elf::PT_DYNAMIC => "DYNAMIC",
        elf::PT_INTERP => "INTERP",
        elf::PT_NOTE => "NOTE",
        elf::PT_PHDR => "PHDR",
        elf::PT_TLS => "TLS",
        elf::PT_GNU_EH_FRAME => "GNU_EH_FRAME",
        elf::PT_GNU_STACK => "GNU_STACK",
        elf::PT_GNU_RELRO => "GNU_RELRO",
        elf::PT_GNU_PROPERTY => "GNU_PROPERTY",
        other => return format!("{other:#x}"),
    };
    name.to_owned()
}

fn debug_size<H: FileHeader<Endian = Endianness>>(sections: &SectionTable<'_, H>, endian: Endianness) -> u64 {
    let is_debug = |name: &[u8]| name.starts_with(b".debug") || name.starts_with(b".zdebug");
    let named = |s: &&H::SectionHeader| sections.section_name(endian, s).is_ok_and(is_debug);
    sections.iter().filter(named).map(|s| s.sh_size(endian).into()).fold(0, u64::saturating_add)
}

/// A static executable has no dynamic section, but it may have ifuncs. Relocations that are not loaded do not count: the linker
/// has applied them already and was asked to keep them (`--emit-relocs`).
fn count_static_relocations<H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'_, H>,
    header: &H,
    endian: Endianness,
    bytes: &[u8],
    relocations: &mut Relocations,
) {
    let is_loaded = |s: &&H::SectionHeader| s.sh_flags(endian).into() & u64::from(elf::SHF_ALLOC) != 0;
    for section in sections.iter().filter(is_loaded) {
        if let Ok(Some((table, _))) = section.rela(endian, bytes) {
            dynamic::count_rela::<H>(table, header, endian, relocations);
        } else if let Ok(Some((table, _))) = section.rel(endian, bytes) {
            dynamic::count_rel::<H>(table, header, endian, relocations);
        }
    }
}

/// The names that uname(1) and readelf(1) use.
fn machine_name(machine: u16) -> &'static str {
    match machine {
        elf::EM_X86_64 => "x86-64",
        elf::EM_386 => "i386",
        elf::EM_AARCH64 => "aarch64",
        elf::EM_ARM => "arm",
        elf::EM_RISCV => "riscv",
        elf::EM_PPC => "powerpc",
        elf::EM_PPC64 => "powerpc64",
        elf::EM_MIPS => "mips",
        elf::EM_S390 => "s390",
        elf::EM_LOONGARCH => "loongarch",
        elf::EM_SPARC | elf::EM_SPARCV9 => "sparc",
        elf::EM_BPF => "bpf",
        _ => "another machine",
    }
}
