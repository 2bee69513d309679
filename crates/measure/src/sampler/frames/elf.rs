//! What an interpreter's file says: symbols, and figures at their places.

use super::interpreter::{Version, version};
use object::{Object, ObjectSegment, ObjectSymbol, SegmentFlags, elf};
use std::collections::HashMap;

/// A 64-bit file of this processor's byte order.
pub(super) struct Elf<'b> {
    bytes: &'b [u8],
    object: object::File<'b>,
    segments: Vec<Segment>,
}

/// What is mapped of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) address: u64,
    #[cfg_attr(not(feature = "bpf"), allow(dead_code, reason = "only copies leave out what is written"))]
    pub(super) is_written: bool,
}

impl<'b> Elf<'b> {
    pub(super) fn parse(bytes: &'b [u8]) -> Option<Elf<'b>> {
        let object = object::File::parse(bytes).ok();
        let object = object.filter(|elf| elf.is_64() && elf.is_little_endian())?;
        let segment = |segment: object::Segment<'_, '_>| {
            let (offset, size) = segment.file_range();
            let is_written =
                !matches!(segment.flags(), SegmentFlags::Elf { p_flags } if p_flags & elf::PF_W == 0);
            Segment { offset, size, address: segment.address(), is_written }
        };
        let segments = object.segments().map(segment).collect();
        Some(Elf { bytes, object, segments })
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The address of a symbol, as the file states it.
    pub(super) fn address(&self, name: &str) -> Option<u64> {
        let all = self.object.dynamic_symbols().chain(self.object.symbols());
        let mut named = all.filter(|symbol| symbol.name() == Ok(name) && symbol.is_definition());
        named.next().map(|symbol| symbol.address())
    }

    /// The addresses of several variables; `None`: it lacks one.
    pub(super) fn addresses<const N: usize>(&self, names: [&str; N]) -> Option<[u64; N]> {
        let found = names.map(|name| self.address(name));
        found.iter().all(Option::is_some).then(|| found.map(Option::unwrap_or_default))
    }

    /// The figures of all exported symbols whose names begin so, by the rests of the names.
    pub(super) fn figures(&self, prefix: &str) -> HashMap<&'b str, i32> {
        let all = self.object.dynamic_symbols();
        let figure = |symbol: object::Symbol<'b, '_>| {
            let rest = symbol.name().ok()?.strip_prefix(prefix)?;
            Some((rest, self.word(symbol.address())?.cast_signed()))
        };
        all.filter_map(figure).collect()
    }

    /// The four bytes at an address.
    pub(super) fn word(&self, address: u64) -> Option<u32> {
        let bytes = self.at(address, 4)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// The version behind the first such text that one follows.
    pub(super) fn version_after(&self, marker: &[u8]) -> Version {
        let places = self.bytes.windows(marker.len()).enumerate().filter(|(_, bytes)| *bytes == marker);
        places
            .map(|(at, _)| at + marker.len())
            .find_map(|at| version(&self.bytes[at..(at + 16).min(self.bytes.len())]))
    }

    pub(super) fn at(&self, address: u64, length: usize) -> Option<&'b [u8]> {
        let holds = |it: &&Segment| it.address <= address && address - it.address < it.size;
        let segment = self.segments.iter().find(holds)?;
        let at = usize::try_from(segment.offset.checked_add(address - segment.address)?).ok()?;
        self.bytes.get(at..at.checked_add(length)?)
    }
}
