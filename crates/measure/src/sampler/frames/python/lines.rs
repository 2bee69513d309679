//! From an instruction to its line, by the tables of code objects.

use super::layouts::LineTable;

/// Whether an entry of a table belongs to a line, and to which one.
type Line = Option<u32>;

impl LineTable {
    /// The line of the instruction at `offset`, in bytes. Negative: no instruction has been executed yet.
    pub(super) fn line(self, table: &[u8], first: u32, offset: i64) -> Line {
        if offset < 0 {
            return Some(first);
        }
        match self {
            LineTable::Differences => Some(differences(table, first, offset)),
            LineTable::Ranges => ranges(table, first, offset),
            LineTable::Locations => locations(table, first, offset),
        }
    }
}

fn moved(line: u32, by: i64) -> u32 {
    u32::try_from(i64::from(line).saturating_add(by)).unwrap_or_default()
}

fn signed(byte: u8) -> i64 {
    i64::from(byte.cast_signed())
}

/// Pairs: a number of bytes, and by how many lines the source moves on after them.
fn differences(table: &[u8], first: u32, offset: i64) -> u32 {
    let (mut at, mut line) = (0, first);
    for pair in table.chunks_exact(2) {
        at += i64::from(pair[0]);
        if at > offset {
            break;
        }
        line = moved(line, signed(pair[1]));
    }
    line
}

/// In a pair: no line.
const NO_LINE: i64 = -128;

/// Pairs: by how many lines the source moves on, and for how many bytes that holds.
fn ranges(table: &[u8], first: u32, offset: i64) -> Line {
    let (mut end, mut line) = (0, first);
    for pair in table.chunks_exact(2) {
        let by = signed(pair[1]);
        if by != NO_LINE {
            line = moved(line, by);
        }
        end += i64::from(pair[0]);
        if end > offset {
            return (by != NO_LINE).then_some(line);
        }
    }
    None
}

/// In `Objects/locations.md`: a location without columns, with all, and without a line.
const WITHOUT_COLUMNS: u8 = 13;
const LONG: u8 = 14;
const NONE: u8 = 15;

/// Entries of several bytes, of which only the first one has its highest bit set.
fn locations(table: &[u8], first: u32, offset: i64) -> Line {
    let (mut end, mut line, mut rest) = (0, first, table);
    while let Some((head, after)) = rest.split_first() {
        let length = after.iter().position(|byte| byte & 0x80 != 0).unwrap_or(after.len());
        let (body, next) = after.split_at(length);
        let code = head >> 3 & 15;
        line = moved(
            line,
            match code {
                10..=12 => i64::from(code - 10),
                WITHOUT_COLUMNS | LONG => difference(body),
                _ => 0,
            },
        );
        end += 2 * (i64::from(head & 7) + 1);
        if end > offset {
            return (code != NONE).then_some(line);
        }
        rest = next;
    }
    None
}

/// Groups of six bits, the lowest ones first; the lowest bit of all is the sign.
fn difference(bytes: &[u8]) -> i64 {
    let mut value: i64 = 0;
    for (n, byte) in bytes.iter().enumerate().take(6) {
        value |= i64::from(byte & 63) << (6 * n);
        if byte & 64 == 0 {
            break;
        }
    }
    if value & 1 == 0 { value >> 1 } else { -(value >> 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_lasts_until_the_next_difference() {
        let table = [6, 1, 50, 2, 4, 0xff];
        let line = |offset| LineTable::Differences.line(&table, 10, offset);
        assert_eq!([-1, 0, 5, 6, 55, 56, 60, 999].map(line), [10, 10, 10, 11, 11, 13, 12, 12].map(Some));
    }

    #[test]
    fn a_range_has_its_line_or_none() {
        let table = [4, 1, 2, 0x80, 6, 2];
        let line = |offset| LineTable::Ranges.line(&table, 10, offset);
        assert_eq!([0, 3, 4, 6, 11, 12].map(line), [Some(11), Some(11), None, Some(13), Some(13), None]);
    }

    #[test]
    fn a_location_has_its_line_in_each_form() {
        // two units on line 12, by the short form for two further; one without a line; one 70 further; one unit of the same
        let table = [0x80 | 12 << 3 | 1, 5, 6, 0x80 | 15 << 3, 0x80 | 13 << 3, 0x40 | 0x0c, 2, 0x80, 9];
        let line = |offset| LineTable::Locations.line(&table, 10, offset);
        assert_eq!([0, 3, 4, 6, 8, 10].map(line), [Some(12), Some(12), None, Some(82), Some(82), None]);
        assert_eq!(difference(&[7]), -3);
    }

    #[test]
    fn damaged_tables_end() {
        for length in 0..40 {
            for byte in [0, 0x7f, 0x80, 0xff] {
                for table in [LineTable::Differences, LineTable::Ranges, LineTable::Locations] {
                    table.line(&vec![byte; length], u32::MAX, i64::MAX);
                }
            }
        }
    }
}
