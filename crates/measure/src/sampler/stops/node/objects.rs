//! The objects on V8's heap.

use super::super::memory::Reader;
use super::layout::Layout;
use super::text::Text;

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
        self.text_below(string, most, DEEPEST)
    }

    fn text_below(&mut self, string: u64, most: u64, depth: u32) -> Option<Text> {
        let kind = self.kind(string)?;
        let strings = &self.layout.strings;
        if kind & strings.not_string != 0 {
            return None;
        }
        let (form, is_narrow) = (kind & strings.representation, kind & strings.one_byte != 0);
        let length = self.length(string)?;
        let start = match form {
            SEQUENTIAL => string.wrapping_sub(1).wrapping_add(CHARACTERS),
            EXTERNAL if kind & UNCACHED == 0 => self.field(string, ADDRESS)?,
            THIN => {
                let other = self.field(string, OTHER)?;
                return self.text_below(other, most, depth.checked_sub(1)?);
            }
            CONS => return self.both(string, most, depth.checked_sub(1)?),
            SLICED => return self.part(string, length, most, depth.checked_sub(1)?),
            _ => return None,
        };
        if length > most {
            return None;
        }
        Some(if is_narrow {
            Text::Latin1(self.memory.text(start, length, most)?)
        } else {
            Text::Wide(self.memory.text(start, 2 * length, 2 * most)?)
        })
    }

    fn length(&mut self, string: u64) -> Option<u64> {
        let at = string.wrapping_sub(1).wrapping_add(self.layout.strings.length);
        self.memory.half(at).map(u64::from)
    }

    /// A string of two parts. The second one is often empty.
    fn both(&mut self, string: u64, most: u64, depth: u32) -> Option<Text> {
        let [first, second] = [OTHER, SECOND].map(|at| self.field(string, at));
        let [first, second] = [self.text_below(first?, most, depth)?, self.text_below(second?, most, depth)?];
        if second.length() == 0 {
            return Some(first);
        }
        let whole = first.string() + &second.string();
        Some(Text::Wide(whole.encode_utf16().flat_map(u16::to_le_bytes).collect()))
    }

    /// A part of another string, as `String.prototype.slice` makes it.
    fn part(&mut self, string: u64, length: u64, most: u64, depth: u32) -> Option<Text> {
        let [whole, from] = [OTHER, SECOND].map(|at| self.field(string, at));
        let (whole, from) = (self.text_below(whole?, most, depth)?, small(from?)?);
        whole.part(usize::try_from(from).ok()?, usize::try_from(length).ok()?)
    }

    /// The bytes of the array in a field; `None`: another object is there.
    pub(super) fn table(&mut self, object: u64, offset: u64) -> Option<Vec<u8>> {
        let array = self.field(object, offset)?;
        let kind = self.kind(array)?;
        self.layout.types.bytes.contains(&kind).then_some(())?;
        let length = small(self.field(array, LENGTH)?)?;
        self.memory.bytes(array.wrapping_sub(1).wrapping_add(BYTES), length.into(), TABLE)
    }
}
