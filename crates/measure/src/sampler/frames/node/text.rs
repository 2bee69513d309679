//! From an instruction to its place in the source, and from there to its line.

use std::sync::OnceLock;

/// Each `Source` is the text of one script.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) text: Text,
    /// The positions after the ends of lines.
    lines: OnceLock<Vec<u32>>,
}

/// The characters of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Latin1(Vec<u8>),
    /// UTF-16 in pairs of bytes.
    Wide(Vec<u8>),
}

impl Text {
    pub(super) fn length(&self) -> usize {
        match self {
            Text::Latin1(bytes) => bytes.len(),
            Text::Wide(bytes) => bytes.len() / 2,
        }
    }

    pub(super) fn unit(&self, index: usize) -> Option<u16> {
        match self {
            Text::Latin1(bytes) => bytes.get(index).copied().map(u16::from),
            Text::Wide(bytes) => bytes.get(2 * index..2 * index + 2)?.try_into().ok().map(u16::from_le_bytes),
        }
    }

    pub(super) fn string(&self) -> String {
        let units: Vec<u16> = (0..self.length()).filter_map(|index| self.unit(index)).collect();
        String::from_utf16_lossy(&units)
    }
}

impl Source {
    pub(super) fn new(text: Text) -> Source {
        Source { text, lines: OnceLock::new() }
    }

    /// The line of a position, from 1 on; `None`: it is not in the text.
    pub(super) fn line(&self, position: u32) -> Option<u32> {
        if usize::try_from(position).ok()? > self.text.length() {
            return None;
        }
        let ends = self.lines.get_or_init(|| ends(&self.text));
        u32::try_from(ends.partition_point(|end| *end <= position) + 1).ok()
    }
}

/// `IsLineTerminatorSequence` of `src/strings/char-predicates.h`.
fn ends(text: &Text) -> Vec<u32> {
    let ends = |index: &usize| match text.unit(*index) {
        Some(0xa | 0x2028 | 0x2029) => true,
        Some(0xd) => text.unit(index + 1) != Some(0xa),
        _ => false,
    };
    (0..text.length()).filter(ends).filter_map(|index| u32::try_from(index + 1).ok()).collect()
}

/// Which instructions belong to which positions in the source: `SourcePositionTableIterator` of
/// `src/codegen/source-position-table.cc`.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// Pairs: so many bytes of instructions later, so much further in the source.
    pub(super) table: Vec<u8>,
    pub(super) marks: Marks,
}

/// `kFunctionEntryBytecodeOffset`, from which the first pair counts.
const ENTRY: i64 = -1;

/// How the first number of a pair tells a statement from an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Marks {
    /// It is negative for an expression.
    #[default]
    Sign,
    /// Later than V8 13.6, the one of Node.js 24: by one of its two lowest bits. It has no sign.
    Bits,
}

impl Positions {
    /// The position of the instruction at `offset`.
    pub(super) fn at(&self, offset: i64) -> Option<u32> {
        let (mut bytes, mut place, mut found) = (self.table.iter(), 0_i64, None);
        let mut at = ENTRY;
        while let (Some(later), Some(further)) = (number(&mut bytes), number(&mut bytes)) {
            let later = match (self.marks, signed(later)) {
                (Marks::Bits, _) => (later >> 2).cast_signed(),
                (Marks::Sign, expression @ ..0) => -(expression + 1),
                (Marks::Sign, statement) => statement,
            };
            at = at.checked_add(later)?;
            if at > offset {
                break;
            }
            place = place.wrapping_add(signed(further));
            found = Some(place);
        }
        // `SourcePosition`: a bit that says that it is in another language, then the offset plus one
        let place = found.filter(|place| place & 1 == 0)?;
        u32::try_from(place >> 1 & 0x3fff_ffff).ok()?.checked_sub(1)
    }
}

/// Groups of seven bits, the lowest ones first.
fn number(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let byte = *bytes.next()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
}

/// The lowest bit is the sign.
fn signed(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of the tables of one function. Its `--print-bytecode` has the positions 42 at 0, 60 at 2, 65 at 4 and at 6,
    /// 81, 88, 97, 101 and 111 in the first loop, and then 71; its entry is at 26.
    const OF_NODE_20: [u8; 23] = [
        0x01, 0x6c, 0x02, 0x40, 0x04, 0x48, 0x04, 0x14, 0x05, 0x00, 0x0a, 0x40, 0x05, 0x1c, 0x14, 0x24, 0x07,
        0x10, 0x0b, 0x28, 0x08, 0x9f, 0x01,
    ];
    const OF_NODE_26: [u8; 23] = [
        0x02, 0x6c, 0x07, 0x40, 0x0b, 0x48, 0x0b, 0x14, 0x0a, 0x00, 0x1b, 0x40, 0x0a, 0x1c, 0x2b, 0x24, 0x0e,
        0x10, 0x16, 0x28, 0x13, 0x9f, 0x01,
    ];

    #[test]
    fn an_instruction_has_the_position_of_the_last_entry_up_to_it() {
        // an instruction of the first loop is a byte longer in Node.js 26
        for (table, marks, longer) in [(OF_NODE_20, Marks::Sign, 0), (OF_NODE_26, Marks::Bits, 1)] {
            let positions = Positions { table: table.to_vec(), marks };
            let of = |offsets: &[i64]| -> Vec<u32> {
                offsets.iter().map(|offset| positions.at(*offset).unwrap()).collect()
            };
            assert_eq!(of(&[-1, 0, 1, 2, 3, 4, 6, 10]), [26, 42, 42, 60, 60, 65, 65, 65], "{marks:?}");
            let later = [11, 12, 13, 23, 26, 31, 34, 35, 99].map(|offset| offset + longer);
            assert_eq!(of(&later), [81, 81, 88, 97, 101, 111, 111, 71, 71], "{marks:?}");
            assert_eq!(positions.at(-2), None);
        }
        assert_eq!(Positions::default().at(3), None);
        // 300 in two bytes
        assert_eq!(number(&mut [0xd8, 4].iter()).map(signed), Some(300));
    }

    #[test]
    fn lines_end_as_in_v8() {
        let wide = |text: &str| Text::Wide(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        for text in [Text::Latin1(b"a\nb\r\nc\rd".to_vec()), wide("a\nb\r\nc\u{2028}d")] {
            assert_eq!(text.length(), 8);
            let source = Source::new(text);
            let lines = [0, 1, 2, 4, 5, 7, 8, 9].map(|position| source.line(position));
            assert_eq!(lines, [Some(1), Some(1), Some(2), Some(2), Some(3), Some(4), Some(4), None]);
        }
        assert_eq!(wide("aß→").string(), "aß→");
    }

    #[test]
    fn damaged_tables_end() {
        for length in 0..40 {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                for marks in [Marks::Sign, Marks::Bits] {
                    Positions { table: vec![byte; length], marks }.at(i64::MAX);
                }
            }
        }
    }
}
