//! The objects on V8's heap.

use super::super::memory::Reader;
use super::layout::Layout;
use super::text::Text;
use std::ops::Range;

/// The longest string that is a name, in characters.
pub(super) const NAME: u64 = 1 << 12;
/// The longest source and the longest table of positions, in characters and bytes.
pub(super) const SOURCE: u64 = 8 << 20;
const TABLE: u64 = 1 << 20;

/// How a string is represented: `StringRepresentationTag` of `src/objects/instance-type.h`.
const SEQUENTIAL: u16 = 0;
const CONS: u16 = 1;
const EXTERNAL: u16 = 2;
const SLICED: u16 = 3;
const THIN: u16 = 5;
/// An external string without the address of its characters.
const UNCACHED: u16 = 0x10;
/// Strings that stand for others are not followed any deeper.
const DEEPEST: u32 = 4;

/// Where a string has its characters, its first part or the string for which it stands or of which it is a part, its second
/// part or the place in that string, and an external one the address of its characters; in bytes.
const CHARACTERS: u64 = 16;
const OTHER: u64 = 16;
const SECOND: u64 = 24;
const ADDRESS: u64 = 24;
/// `FixedArrayBase.length`, and where the bytes of a `ByteArray` begin.
const LENGTH: u64 = 8;
const BYTES: u64 = 16;

/// Pointers have a lowest bit that their objects' addresses do not have.
pub(super) fn is_pointer(value: u64) -> bool {
    value & 3 == 1
}

/// A small integer: the upper half.
pub(super) fn small(value: u64) -> Option<u32> {
    (value.trailing_zeros() >= 32).then(|| u32::try_from(value >> 32).ok()).flatten()
}

/// Reads objects of one process.
pub(super) struct Heap<'h, 'm> {
    pub(super) layout: &'h Layout,
    pub(super) memory: &'h mut Reader<'m>,
}

impl Heap<'_, '_> {
    /// The field at an offset.
    pub(super) fn field(&mut self, object: u64, offset: u64) -> Option<u64> {
        self.memory.word(object.wrapping_sub(1).wrapping_add(offset))
    }

    /// Of an array of bytes or bytecode.
    pub(super) fn array_length(&mut self, array: u64) -> Option<u32> {
        small(self.field(array, LENGTH)?)
    }

    /// The object in a field, if it has the type.
    pub(super) fn object(&mut self, object: u64, offset: u64, kind: u16) -> Option<u64> {
        let found = self.field(object, offset)?;
        (self.kind(found)? == kind).then_some(found)
    }

    /// The type of an object.
    pub(super) fn kind(&mut self, object: u64) -> Option<u16> {
        let map = is_pointer(object).then(|| self.field(object, 0)).flatten()?;
        is_pointer(map).then_some(())?;
        self.memory.quarter(map.wrapping_sub(1).wrapping_add(self.layout.instance_type))
    }

    pub(super) fn name(&mut self, string: u64) -> Option<String> {
        self.text(string, NAME).map(|text| text.string())
    }

    /// The characters of a string, at most this many.
    pub(super) fn text(&mut self, string: u64, most: u64) -> Option<Text> {
        let length = self.length(string)?;
        self.text_below(string, 0..length, most, DEEPEST)
    }

    /// The characters in a range of a string.
    fn text_below(&mut self, string: u64, range: Range<u64>, most: u64, depth: u32) -> Option<Text> {
        let (kind, strings) = (self.kind(string)?, &self.layout.strings);
        let length = range.end.checked_sub(range.start).filter(|length| *length <= most)?;
        if kind & strings.not_string != 0 || range.end > self.length(string)? {
            return None;
        }

        let start = match kind & strings.representation {
            SEQUENTIAL => string.wrapping_sub(1).wrapping_add(CHARACTERS),
            EXTERNAL if kind & UNCACHED == 0 => self.field(string, ADDRESS)?,
            THIN => {
                let other = self.field(string, OTHER)?;
                return self.text_below(other, range, most, depth.checked_sub(1)?);
            }
            CONS => return self.both(string, &range, most, depth.checked_sub(1)?),
            SLICED => return self.part(string, &range, most, depth.checked_sub(1)?),
            _ => return None,
        };

        let is_narrow = kind & strings.one_byte != 0;
        let width = if is_narrow { 1 } else { 2 };
        let start = start.checked_add(width * range.start)?;
        let bytes = self.memory.text(start, width * length, width * most)?;
        Some(if is_narrow { Text::Latin1(bytes) } else { Text::Wide(bytes) })
    }

    fn length(&mut self, string: u64) -> Option<u64> {
        is_pointer(string).then_some(())?;
        let at = string.wrapping_sub(1).wrapping_add(self.layout.strings.length);
        self.memory.half(at).map(u64::from)
    }

    /// A string of two parts. The second one is often empty.
    fn both(&mut self, string: u64, range: &Range<u64>, most: u64, depth: u32) -> Option<Text> {
        let [first, second] = [OTHER, SECOND].map(|at| self.field(string, at));
        let border = self.length(first?)?;
        let before = range.start.min(border)..range.end.min(border);
        let after = range.start.saturating_sub(border)..range.end.saturating_sub(border);
        let first = self.text_below(first?, before, most, depth)?;
        let second = self.text_below(second?, after, most, depth)?;
        if second.length() == 0 {
            return Some(first);
        }
        let whole = first.string() + &second.string();
        Some(Text::Wide(whole.encode_utf16().flat_map(u16::to_le_bytes).collect()))
    }

    /// A part of another string, as `String.prototype.slice` makes it.
    fn part(&mut self, string: u64, range: &Range<u64>, most: u64, depth: u32) -> Option<Text> {
        let [whole, from] = [OTHER, SECOND].map(|at| self.field(string, at));
        let from = u64::from(small(from?)?);
        self.text_below(whole?, from + range.start..from + range.end, most, depth)
    }

    /// The bytes of the array in a field; `None`: another object is there.
    pub(super) fn table(&mut self, object: u64, offset: u64) -> Option<Vec<u8>> {
        let array = self.field(object, offset)?;
        let kind = self.kind(array)?;
        self.layout.types.bytes.contains(&kind).then_some(())?;
        let length = self.array_length(array)?;
        self.memory.bytes(array.wrapping_sub(1).wrapping_add(BYTES), length.into(), TABLE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::memory::Memory;
    use super::super::layout::example;
    use super::*;

    const ONE_BYTE: u16 = 8;
    const WHOLE: u64 = 0x1000;
    const OUTER: u64 = 0x9000;

    /// The first 64 KiB of a process.
    struct Objects(Vec<u8>);

    impl Objects {
        fn write(&mut self, at: u64, bytes: &[u8]) {
            let at = usize::try_from(at).unwrap();
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
        }

        /// A string, whose map is beside it.
        fn string(&mut self, at: u64, kind: u16, length: u32, rest: &[u8]) {
            let map = at - 0x100;
            self.write(map + 12, &kind.to_le_bytes());
            self.write(at, &(map + 1).to_le_bytes());
            self.write(at + 12, &length.to_le_bytes());
            self.write(at + CHARACTERS, rest);
        }

        fn with_two(&mut self, at: u64, kind: u16, length: u32, fields: [u64; 2]) {
            self.string(at, kind, length, &fields.map(u64::to_le_bytes).concat());
        }

        fn name(&self, at: u64) -> Option<String> {
            let (layout, mut memory) = (example::layout(), Memory::default());
            let source = |address: u64, room: &mut [u8]| {
                let from = usize::try_from(address).unwrap_or(usize::MAX);
                let bytes = from.checked_add(room.len()).and_then(|end| self.0.get(from..end));
                bytes.map_or(0, |bytes| {
                    room.copy_from_slice(bytes);
                    bytes.len()
                })
            };
            Heap { layout: &layout, memory: &mut memory.reader(&source) }.name(at + 1)
        }
    }

    /// A text longer than a name, with a name near its end.
    fn long() -> String {
        ".".repeat(usize::try_from(NAME).unwrap() + 100) + "a/name.js" + "..."
    }

    fn from(place: u64) -> u64 {
        (NAME + place) << 32
    }

    fn count(text: &str) -> u32 {
        u32::try_from(text.encode_utf16().count()).unwrap()
    }

    #[test]
    fn a_name_may_be_a_part_of_a_text_that_is_longer_than_names() {
        let text = long();
        let mut objects = Objects(vec![0; 0x10000]);
        objects.string(WHOLE, SEQUENTIAL | ONE_BYTE, count(&text), text.as_bytes());
        assert_eq!(objects.name(WHOLE), None, "too long");
        objects.with_two(OUTER, SLICED | ONE_BYTE, 9, [WHOLE + 1, from(100)]);
        assert_eq!(objects.name(OUTER).as_deref(), Some("a/name.js"));

        let wide = text.replace('a', "ü");
        let bytes: Vec<u8> = wide.encode_utf16().flat_map(u16::to_le_bytes).collect();
        objects.string(WHOLE, SEQUENTIAL, count(&wide), &bytes);
        assert_eq!(objects.name(OUTER).as_deref(), Some("ü/nüme.js"));
        // the characters are elsewhere
        objects.write(0xa000, &bytes);
        objects.with_two(WHOLE, EXTERNAL, count(&wide), [0, 0xa000]);
        assert_eq!(objects.name(OUTER).as_deref(), Some("ü/nüme.js"));
    }

    #[test]
    fn a_part_lies_within_its_text() {
        let text = long();
        let mut objects = Objects(vec![0; 0x10000]);
        objects.string(WHOLE, SEQUENTIAL | ONE_BYTE, count(&text), text.as_bytes());
        let mut part = |length, place| {
            objects.with_two(OUTER, SLICED | ONE_BYTE, length, [WHOLE + 1, place]);
            objects.name(OUTER)
        };
        assert_eq!(part(3, from(109)).as_deref(), Some("..."));
        assert_eq!(part(0, from(112)).as_deref(), Some(""));
        let beyond = [(4, from(109)), (0, from(113)), (1, u64::MAX << 32), (u32::MAX, 0), (1, 1)];
        assert_eq!(beyond.map(|(length, place)| part(length, place)), [None, None, None, None, None]);
        assert_eq!(part(4096, 0).map(|name| name.len()), Some(4096));
        assert_eq!(part(4097, 0), None, "longer than a name");
    }

    #[test]
    fn a_part_may_be_of_a_string_that_stands_for_another() {
        let mut objects = Objects(vec![0; 0x10000]);
        objects.string(WHOLE, SEQUENTIAL | ONE_BYTE, 9, b"a/name.js");
        objects.with_two(0x4000, THIN, 9, [WHOLE + 1, 0]);
        assert_eq!(objects.name(0x4000).as_deref(), Some("a/name.js"), "the other one has the characters");
        let mut part = |length, place: u64| {
            objects.with_two(OUTER, SLICED | ONE_BYTE, length, [0x4001, place << 32]);
            objects.name(OUTER)
        };
        let parts = [(4, 2), (2, 7), (0, 9)].map(|(length, place)| part(length, place));
        assert_eq!(parts.map(Option::unwrap), ["name", "js", ""]);
        assert_eq!(part(3, 7), None);
        objects.with_two(0x4000, THIN, 9, [0x4001, 0]);
        assert_eq!(objects.name(0x4000), None, "it stands for itself");
    }

    #[test]
    fn a_part_may_be_of_a_part_and_of_two_strings() {
        let mut objects = Objects(vec![0; 0x10000]);
        objects.string(0x2000, SEQUENTIAL | ONE_BYTE, 6, b"first/");
        objects.string(0x3000, SEQUENTIAL | ONE_BYTE, 6, b"second");
        objects.with_two(WHOLE, CONS | ONE_BYTE, 12, [0x2001, 0x3001]);
        objects.with_two(0x4000, SLICED | ONE_BYTE, 10, [WHOLE + 1, 1 << 32]);
        let mut part = |length, place: u64| {
            objects.with_two(OUTER, SLICED | ONE_BYTE, length, [0x4001, place << 32]);
            objects.name(OUTER)
        };
        let parts = [(4, 0), (4, 3), (4, 6), (5, 5)].map(|(length, place)| part(length, place));
        assert_eq!(parts.map(Option::unwrap), ["irst", "t/se", "econ", "secon"]);
        assert_eq!(part(5, 6), None);
    }
}
