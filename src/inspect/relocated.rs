//! Where the dynamic loader stores addresses, page by page.

use super::headers::{Elf, PAGE};
use object::elf;
use std::collections::BTreeSet;

/// What relocation touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Relocated {
    /// The numbers of the pages that are written.
    pub(super) pages: BTreeSet<u64>,
    /// The functions that are called to choose others, for this processor.
    pub(super) resolvers: BTreeSet<u64>,
}

/// The relocations of a little-endian file. Others touch nothing that is known.
pub(super) fn relocated(elf: &Elf, bytes: &[u8]) -> Relocated {
    let mut all = Relocated::default();
    let Some(dynamic) = elf.dynamic.as_ref().filter(|_| elf.byte_order == "little") else { return all };
    let value = |tag: u32| dynamic.values.get(&u64::from(tag)).copied();
    let table = |at: u32, size: u32| in_memory(elf, bytes, value(at)?, value(size)?);
    let word = if elf.class == 64 { 8 } else { 4 };

    let has_addends = value(elf::DT_PLTREL) == Some(u64::from(elf::DT_RELA));
    for (table, words) in [
        (table(elf::DT_RELA, elf::DT_RELASZ), 3),
        (table(elf::DT_REL, elf::DT_RELSZ), 2),
        (table(elf::DT_JMPREL, elf::DT_PLTRELSZ), if has_addends { 3 } else { 2 }),
    ] {
        for entry in table.unwrap_or_default().chunks_exact(words * word) {
            let number = |n: usize| number(&entry[n * word..(n + 1) * word]);
            all.pages.insert(number(0) / PAGE);
            if words == 3
                && word == 8
                && number(1) == u64::from(elf::R_X86_64_IRELATIVE)
                && elf.machine == elf::EM_X86_64
            {
                all.resolvers.insert(number(2));
            }
        }
    }
    packed(table(DT_RELR, DT_RELRSZ).unwrap_or_default(), word, &mut all.pages);
    all
}

const DT_RELRSZ: u32 = 35;
const DT_RELR: u32 = 36;

/// An even word is an address. An odd one says which of the words that follow are relocated, too.
fn packed(table: &[u8], word: usize, pages: &mut BTreeSet<u64>) {
    let (mut next, size) = (0_u64, word as u64);
    for entry in table.chunks_exact(word) {
        let entry = number(entry);
        if entry & 1 == 0 {
            pages.insert(entry / PAGE);
            next = entry.wrapping_add(size);
            continue;
        }
        for bit in (1..size * 8).filter(|bit| entry >> bit & 1 == 1) {
            pages.insert(next.wrapping_add((bit - 1) * size) / PAGE);
        }
        next = next.wrapping_add((size * 8 - 1) * size);
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The bytes of the file that are mapped at an address.
fn in_memory<'d>(elf: &Elf, bytes: &'d [u8], address: u64, size: u64) -> Option<&'d [u8]> {
    let segment =
        elf.loads().find(|s| address.checked_sub(s.address).is_some_and(|within| within < s.file_size))?;
    let within = address - segment.address;
    let from = usize::try_from(segment.offset.checked_add(within)?).ok()?;
    let size = usize::try_from(size.min(segment.file_size - within)).ok()?;
    bytes.get(from..from.checked_add(size)?)
}
