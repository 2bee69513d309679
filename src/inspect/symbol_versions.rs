//! The tables of symbol versions (Linux Standard Base, "Symbol Versioning"). The loader allocates a table for their numbers.

use super::dynamic::{Dynamic, ReadBytes};
use object::{Endian, Endianness, elf};

/// The largest number of a version that a file defines or needs.
pub(super) fn most(dynamic: &Dynamic, load: ReadBytes<'_, '_>, endian: Endianness) -> u64 {
    let table = |at: u32, count: u32| {
        let value = |tag: u32| dynamic.values.get(&u64::from(tag)).copied();
        Some((value(at)?, value(count)?))
    };
    let tables = Tables { load, endian };
    let defined = tables.chain(table(elf::DT_VERDEF, elf::DT_VERDEFNUM), 16);
    let numbers = defined.into_iter().map(|definition| tables.number(definition, 4));
    let needed = tables.chain(table(elf::DT_VERNEED, elf::DT_VERNEEDNUM), 12);
    let of_file = |file: u64| {
        let first = tables.word(file, 8).map(|first| (file.wrapping_add(first), tables.number(file, 2)));
        tables.chain(first, 12).into_iter().map(|version| tables.number(version, 6)).max()
    };
    numbers.chain(needed.into_iter().filter_map(of_file)).max().unwrap_or(0) & 0x7fff
}

/// Entries in memory, each of which says how far away the next one is.
struct Tables<'a, 'd> {
    load: ReadBytes<'a, 'd>,
    endian: Endianness,
}

impl Tables<'_, '_> {
    /// The addresses of the entries, from the first one and their number. `next` is where an entry has the distance.
    fn chain(&self, first: Option<(u64, u64)>, next: u64) -> Vec<u64> {
        let Some((mut at, count)) = first else { return Vec::new() };
        let mut all = Vec::new();
        for _ in 0..count.min(MAX_ENTRIES) {
            all.push(at);
            match self.word(at, next) {
                Some(distance) if distance > 0 => at = at.wrapping_add(distance),
                _ => break,
            }
        }
        all
    }

    fn word(&self, at: u64, field: u64) -> Option<u64> {
        let bytes = (self.load)(at.wrapping_add(field), 4)?;
        Some(u64::from(self.endian.read_u32_bytes(bytes.try_into().ok()?)))
    }

    fn number(&self, at: u64, field: u64) -> u64 {
        let bytes = (self.load)(at.wrapping_add(field), 2);
        let number = bytes.and_then(|bytes| Some(self.endian.read_u16_bytes(bytes.try_into().ok()?)));
        number.unwrap_or(0).into()
    }
}

/// More entries than any file has.
const MAX_ENTRIES: u64 = 4096;
