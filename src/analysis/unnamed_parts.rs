//! Code without symbols, found by the places of functions that the tables for unwinding give, or do not give.
//!
//! A compiler divides a function into a part that is executed often and a cold one. The symbol of the function is that of the
//! first part only. The main loop of `CPython` 3.13 in Debian has 2 KB there and 77 KB in the cold part, where most of its
//! time is spent. Jumps lead from the one to the middle of the other, so it is the part with most of their targets.

use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// Fewer jumps, or a smaller part of all, say nothing.
const JUMPS: usize = 8;
const MOST: f64 = 0.5;

/// The builtins of V8 take 1.4 to 2.1 MB. Between other functions of Node.js there are at most some hundred bytes; where another
/// gap is not much smaller than the largest one, they are not known.
const BUILTINS: RangeInclusive<u64> = 512 << 10..=8 << 20;
const SMALLER: u64 = 8;

/// Of `.eh_frame_hdr`: version, how the three following figures are written (4 bytes from here; 4 bytes; 4 bytes from the
/// beginning of the section), the address of `.eh_frame`, and how many entries follow.
const HEADER: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
const ENTRIES: usize = 12;
/// In an entry for a function in `.eh_frame`: where its size is, if addresses take four bytes.
const SIZE: u64 = 12;

/// What the compiler says about the places of functions.
pub(super) struct Parts<'f> {
    text: (u64, &'f [u8]),
    /// In their order.
    ranges: Vec<Range<u64>>,
}

impl<'f> Parts<'f> {
    /// `None`: the file does not say it, or says it in an unusual way.
    pub(super) fn of(file: &object::File<'f>) -> Option<Parts<'f>> {
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            Some((section.address(), section.data().ok()?))
        };
        let (frames, header) = (section(".eh_frame")?, section(".eh_frame_hdr")?);
        let (address, bytes) = header;
        let entries = bytes.strip_prefix(&HEADER).and_then(|_| bytes.get(ENTRIES..))?;
        let range = |entry: &[u8]| {
            let [start, at] = [0, 4].map(|at| four(entry, at).map(|it| address.wrapping_add_signed(it)));
            let size = at?.wrapping_sub(frames.0).checked_add(SIZE)?;
            let size = u64::try_from(four(frames.1, usize::try_from(size).ok()?)?).ok()?;
            Some(start?..start?.wrapping_add(size))
        };
        Some(Parts { text: section(".text")?, ranges: entries.chunks_exact(8).filter_map(range).collect() })
    }

    /// The cold part of a function.
    pub(super) fn cold(&self, function: &Range<u64>) -> Option<Range<u64>> {
        let (address, text) = self.text;
        let [from, to] =
            [function.start, function.end].map(|it| usize::try_from(it.checked_sub(address)?).ok());
        let code = text.get(from?..to?)?;

        let mut counts = BTreeMap::<usize, usize>::new();
        for target in targets(code, function.start).filter(|target| !function.contains(target)) {
            if let Some(part) = self.part(target) {
                *counts.entry(part).or_default() += 1;
            }
        }
        let all: usize = counts.values().sum();
        let (part, jumps) = counts.into_iter().max_by_key(|(_, jumps)| *jumps)?;
        (jumps >= JUMPS && jumps as f64 > MOST * all as f64).then(|| self.ranges[part].clone())
    }

    /// The functions that V8 has compiled for itself. Their code is one block, of which the compiler knows nothing.
    pub(super) fn builtins(&self) -> Option<Range<u64>> {
        let (start, code) = self.text;
        let (mut end, text_end) = (start, start.saturating_add(code.len() as u64));
        let (mut largest, mut second) = (start..start, 0);
        for range in self.ranges.iter().chain([&(text_end..text_end)]) {
            let gap = end..range.start.min(text_end);
            end = end.max(range.end);
            if size(&gap) > size(&largest) {
                second = size(&largest);
                largest = gap;
            } else {
                second = second.max(size(&gap));
            }
        }
        let is_alone = second <= size(&largest) / SMALLER;
        (is_alone && BUILTINS.contains(&size(&largest))).then_some(largest)
    }

    /// The part in whose middle an address is. A jump to the beginning of a function is a call.
    fn part(&self, address: u64) -> Option<usize> {
        let part = self.ranges.partition_point(|range| range.start <= address).checked_sub(1)?;
        (self.ranges[part].start < address && address < self.ranges[part].end).then_some(part)
    }
}

/// Where the jumps of x86-64 lead that have distances of four bytes. Data and parts of other instructions that look like
/// jumps lead anywhere.
fn targets(code: &[u8], start: u64) -> impl Iterator<Item = u64> + '_ {
    (0..code.len()).filter_map(move |at| {
        let length = match code[at..] {
            [0xe9, ..] => 5,
            [0x0f, 0x80..=0x8f, ..] => 6,
            _ => return None,
        };
        let distance = four(code, at + length - 4)?;
        Some(start.wrapping_add((at + length) as u64).wrapping_add_signed(distance))
    })
}

fn size(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

fn four(bytes: &[u8], at: usize) -> Option<i64> {
    let four = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(i32::from_le_bytes(four).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_jumps_into_the_middle_lead_to_the_cold_part() {
        let jump = |from: u64, to: u64| {
            let distance = i32::try_from(to.cast_signed() - from.cast_signed() - 6).unwrap();
            [&[0x0f, 0x84][..], &distance.to_le_bytes()].concat()
        };
        // from 0x1000 on: nine jumps to the cold part, one to another function's middle, ten to a function's beginning
        let cold = (0..9).map(|n| 0x2010 + n);
        let targets: Vec<u64> = cold.chain([0x3010]).chain([0x3000; 10]).collect();
        let code: Vec<u8> =
            targets.iter().zip(0..).flat_map(|(target, n)| jump(0x1000 + 6 * n, *target)).collect();
        let function = 0x1000..0x1000 + code.len() as u64;
        let ranges = vec![function.clone(), 0x2000..0x2100, 0x3000..0x3100];
        assert_eq!(
            Parts { text: (0x1000, &code), ranges: ranges.clone() }.cold(&function),
            Some(0x2000..0x2100)
        );

        let few = &code[..6 * 7];
        assert_eq!(Parts { text: (0x1000, few), ranges }.cold(&(0x1000..0x1000 + 6 * 7)), None);
    }

    #[test]
    fn the_builtins_of_v8_are_the_largest_code_between_functions() {
        const LEAST: u64 = 512 << 10;
        let code = vec![0; 32 * (512 << 10)];
        let end = 0x1000 + 32 * LEAST;
        let of = |text: usize, ranges: &[Range<u64>]| {
            Parts { text: (0x1000, &code[..text]), ranges: ranges.to_vec() }.builtins()
        };
        let (first, inner, last) = (0x1000..0x2000, 0x1800..0x1900, 0x2000 + LEAST..end);
        assert_eq!(of(code.len(), &[first.clone(), inner, last.clone()]), Some(0x2000..0x2000 + LEAST));
        let small = 0x2000 + LEAST - 1..end;
        assert_eq!(of(code.len(), &[first.clone(), small]), None, "too small");
        assert_eq!(of(code.len(), std::slice::from_ref(&first)), None, "too large: no functions are known");

        let text = usize::try_from(0x1000 + LEAST).unwrap();
        let behind = end..end + 16;
        assert_eq!(
            of(text, &[first.clone(), behind]),
            Some(0x2000..0x2000 + LEAST),
            "up to the end of the text"
        );
        let after = |gap: u64| [first.clone(), 0x2000 + LEAST..0x3000 + LEAST, 0x3000 + LEAST + gap..end];
        assert_eq!(of(code.len(), &after(LEAST / 8)), Some(0x2000..0x2000 + LEAST), "a small one beside it");
        assert_eq!(of(code.len(), &after(LEAST / 8 + 1)), None, "which of two?");
        let before =
            [0x1000..0x2000, 0x2000 + LEAST / 4..0x3000 + LEAST / 4, 0x3000 + LEAST / 4 + LEAST..end];
        assert_eq!(of(code.len(), &before), None, "which of two?");
    }
}
