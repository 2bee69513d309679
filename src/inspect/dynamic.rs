//! The dynamic section, which the dynamic loader reads (ld.so(8), elf(5)).

use super::relocations::Relocations;
use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Rel, Rela};
use object::{Endianness, pod};
use serde::Serialize;
use std::collections::HashMap;

/// The longest name that we read, in bytes (`PATH_MAX`).
const MAX_NAME_BYTES: u64 = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dynamic {
    /// The libraries that the file needs, in order.
    pub needed: Vec<String>,
    /// The file's own name as a library.
    pub soname: Option<String>,
    /// Folders to search before `LD_LIBRARY_PATH`, for the libraries of this file and for theirs.
    pub rpath: Option<String>,
    /// Folders to search after `LD_LIBRARY_PATH`, for the libraries of this file only. Then `rpath` is ignored.
    pub runpath: Option<String>,
    /// Whether all functions are looked up at the start.
    pub bind_now: bool,
    /// Whether the file is marked as an executable (`DF_1_PIE`).
    pub pie: bool,
    /// `gnu`, `sysv` or `both`.
    pub hash_style: Option<&'static str>,
    /// The audit modules that it asks for (`DT_AUDIT`, `DT_DEPAUDIT`).
    pub audit: Vec<String>,
    /// The number of functions that run before main.
    pub constructors: u64,
    /// The number of functions that run at exit.
    pub destructors: u64,
    #[serde(skip)]
    pub(super) values: HashMap<u64, u64>,
}

impl Dynamic {
    fn flags(&self, tag: u32) -> u64 {
        self.values.get(&u64::from(tag)).copied().unwrap_or(0)
    }

    fn has(&self, tag: u32) -> bool {
        self.values.contains_key(&u64::from(tag))
    }

    /// Whether the default folders are not searched for its libraries.
    pub(super) fn avoids_default_folders(&self) -> bool {
        self.flags(elf::DT_FLAGS_1) & u64::from(elf::DF_1_NODEFLIB) != 0
    }

    /// Whether the code itself must be relocated.
    pub(super) fn relocates_text(&self) -> bool {
        self.has(elf::DT_TEXTREL) || self.flags(elf::DT_FLAGS) & u64::from(elf::DF_TEXTREL) != 0
    }

    /// Whether another library may replace its symbols.
    pub(super) fn has_filter(&self) -> bool {
        self.has(elf::DT_FILTER) || self.has(elf::DT_AUXILIARY)
    }

    /// Whether the section belongs to an executable and not to a library.
    pub(super) fn is_pie(&self, has_interpreter: bool) -> bool {
        self.pie || (has_interpreter && self.soname.is_none())
    }
}

/// Returns the bytes that will be at an address: its arguments are the address and the size.
pub(super) type ReadBytes<'a, 'd> = &'a dyn Fn(u64, u64) -> Option<&'d [u8]>;

/// The bytes that will be at an address, if they come from the file.
pub(super) fn mapped<'d, H: FileHeader<Endian = Endianness>>(
    programs: &[H::ProgramHeader],
    endian: Endianness,
    bytes: &'d [u8],
    address: u64,
    size: u64,
) -> Option<&'d [u8]> {
    programs.iter().filter(|p| p.p_type(endian) == elf::PT_LOAD).find_map(|program| {
        let (start, length): (u64, u64) = (program.p_vaddr(endian).into(), program.p_filesz(endian).into());
        let within = address.checked_sub(start).filter(|&within| within < length)?;
        let size = size.min(length - within);
        let offset = Into::<u64>::into(program.p_offset(endian)).checked_add(within)?;
        let from = usize::try_from(offset).ok()?;
        let to = from.checked_add(usize::try_from(size).ok()?)?;
        bytes.get(from..to.min(bytes.len()))
    })
}

/// Reads the dynamic section; `None` if the file has none.
pub(super) fn read<H: FileHeader<Endian = Endianness>>(
    programs: &[H::ProgramHeader],
    endian: Endianness,
    bytes: &[u8],
    load: ReadBytes<'_, '_>,
    damage: &mut Vec<String>,
) -> Option<Dynamic> {
    let program = programs.iter().find(|p| p.p_type(endian) == elf::PT_DYNAMIC)?;
    let entries = match program.dynamic(endian, bytes) {
        Ok(entries) => entries?,
        Err(error) => {
            damage.push(error.to_string());
            return None;
        }
    };
    let pairs = entries.iter().map(|d| (d.d_tag(endian).into(), d.d_val(endian).into()));
    let pairs: Vec<(u64, u64)> = pairs.take_while(|(tag, _)| *tag != u64::from(elf::DT_NULL)).collect();
    Some(interpret(&pairs, load, if size_of::<H>() == 64 { 8 } else { 4 }))
}

fn interpret(pairs: &[(u64, u64)], load: ReadBytes<'_, '_>, word: u64) -> Dynamic {
    let values: HashMap<u64, u64> = pairs.iter().copied().collect();
    let value = |tag: u32| values.get(&u64::from(tag)).copied();
    let names = value(elf::DT_STRTAB).unwrap_or(0);
    let name = |at: u64| text(load, names.checked_add(at)?);
    let needed = pairs.iter().filter(|(tag, _)| *tag == u64::from(elf::DT_NEEDED));
    let flags = value(elf::DT_FLAGS).unwrap_or(0);
    let flags_1 = value(elf::DT_FLAGS_1).unwrap_or(0);
    let names_of = |wanted: [u32; 2]| {
        let is_wanted = move |tag: u64| wanted.iter().any(|known| tag == u64::from(*known));
        pairs.iter().filter(move |(tag, _)| is_wanted(*tag)).filter_map(|(_, at)| name(*at))
    };
    let count = |size_tag, single| value(size_tag).unwrap_or(0) / word + u64::from(value(single).is_some());
    let hashes = (value(elf::DT_GNU_HASH).is_some(), value(elf::DT_HASH).is_some());

    Dynamic {
        needed: needed.filter_map(|(_, at)| name(*at)).collect(),
        soname: value(elf::DT_SONAME).and_then(name),
        rpath: value(elf::DT_RPATH).and_then(name),
        runpath: value(elf::DT_RUNPATH).and_then(name),
        bind_now: value(elf::DT_BIND_NOW).is_some()
            || flags & u64::from(elf::DF_BIND_NOW) != 0
            || flags_1 & u64::from(elf::DF_1_NOW) != 0,
        pie: flags_1 & u64::from(elf::DF_1_PIE) != 0,
        audit: names_of([elf::DT_AUDIT, elf::DT_DEPAUDIT]).collect(),
        hash_style: match hashes {
            (true, true) => Some("both"),
            (true, false) => Some("gnu"),
            (false, true) => Some("sysv"),
            (false, false) => None,
        },
        constructors: count(elf::DT_INIT_ARRAYSZ, elf::DT_INIT)
            + value(elf::DT_PREINIT_ARRAYSZ).unwrap_or(0) / word,
        destructors: count(elf::DT_FINI_ARRAYSZ, elf::DT_FINI),
        values,
    }
}

fn text(load: ReadBytes<'_, '_>, address: u64) -> Option<String> {
    let bytes = load(address, MAX_NAME_BYTES)?;
    let end = bytes.iter().position(|&b| b == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// Counts the relocations in the tables that the dynamic section names.
pub(super) fn count_relocations<H: FileHeader<Endian = Endianness>>(
    dynamic: &Dynamic,
    header: &H,
    endian: Endianness,
    load: ReadBytes<'_, '_>,
    relocations: &mut Relocations,
    damage: &mut Vec<String>,
) {
    let value = |tag: u32| dynamic.values.get(&u64::from(tag)).copied();
    let table = |address: u32, size: u32| load(value(address)?, value(size)?);
    let plt_is_rela = value(elf::DT_PLTREL) == Some(u64::from(elf::DT_RELA));

    for (bytes, is_rela) in [
        (table(elf::DT_RELA, elf::DT_RELASZ), true),
        (table(elf::DT_REL, elf::DT_RELSZ), false),
        (table(elf::DT_JMPREL, elf::DT_PLTRELSZ), plt_is_rela),
    ] {
        let Some(bytes) = bytes else { continue };
        if is_rela {
            count_rela::<H>(entries(bytes), header, endian, relocations);
        } else {
            count_rel::<H>(entries(bytes), header, endian, relocations);
        }
    }

    if let Some(bytes) = table(DT_RELR, DT_RELRSZ) {
        relocations.count_packed(words(bytes, header.is_type_64(), endian));
    }
    if value(elf::DT_RELA).is_some()
        && table(elf::DT_RELA, elf::DT_RELASZ).is_none()
        && value(elf::DT_RELASZ) != Some(0)
    {
        damage.push("its relocations are outside the file".to_owned());
    }
}

const DT_RELRSZ: u32 = 35;
const DT_RELR: u32 = 36;

/// The whole entries of a table.
fn entries<T: pod::Pod>(bytes: &[u8]) -> &[T] {
    let count = bytes.len() / size_of::<T>();
    pod::slice_from_bytes(bytes, count).map_or(&[], |(entries, _)| entries)
}

pub(super) fn count_rela<H: FileHeader<Endian = Endianness>>(
    table: &[H::Rela],
    header: &H,
    endian: Endianness,
    relocations: &mut Relocations,
) {
    let machine = header.e_machine(endian);
    for entry in table {
        relocations.count(machine, entry.r_type(endian, false));
    }
}

pub(super) fn count_rel<H: FileHeader<Endian = Endianness>>(
    table: &[H::Rel],
    header: &H,
    endian: Endianness,
    relocations: &mut Relocations,
) {
    let machine = header.e_machine(endian);
    for entry in table {
        relocations.count(machine, entry.r_type(endian));
    }
}

fn words(bytes: &[u8], wide: bool, endian: Endianness) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(if wide { 8 } else { 4 }).map(move |chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        if endian == Endianness::Big {
            word[..chunk.len()].reverse();
        }
        u64::from_le_bytes(word)
    })
}
