//! Code without symbols that is known by what the compiler says about the places of functions.
//!
//! A compiler divides a function into a part that is executed often and a cold one. The symbol of the function is that of the
//! first part only. The main loop of `CPython` 3.13 in Debian has 2 KB there and 77 KB in the cold part, where most of its
//! time is spent. Jumps lead from the one to the middle of the other, so it is the part with most of their targets.

use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::ops::Range;

/// Fewer jumps, or a smaller part of all, say nothing.
const JUMPS: usize = 8;
const MOST: f64 = 0.5;

/// The builtins of V8 take 1.4 to 2.1 MB. Between other functions there are at most some hundred bytes.
const BUILTINS: u64 = 512 << 10;

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
        let text = start..start.saturating_add(code.len() as u64);
        let (mut end, last) = (text.start, text.end..text.end);
        let gaps = self.ranges.iter().chain([&last]).map(|range| {
            let gap = end..range.start;
            end = end.max(range.end);
            gap
        });
        let size = |gap: &Range<u64>| gap.end.saturating_sub(gap.start);
        gaps.max_by_key(size).filter(|gap| size(gap) >= BUILTINS)
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
        let code = vec![0; 4 * (512 << 10)];
        let of = |ranges: &[Range<u64>]| {
            Parts { text: (0x1000, &code), ranges: ranges.to_vec() }.builtins().map(|it| (it.start, it.end))
        };
        let end = 0x1000 + code.len() as u64;
        let [first, other] = [0x1000..0x2000, 0x1800..0x1900];
        assert_eq!(of(&[first.clone(), other, end - 16..end]), Some((0x2000, end - 16)));
        assert_eq!(of(std::slice::from_ref(&first)), Some((0x2000, end)), "at the end");
        let many: Vec<Range<u64>> = (0..5).map(|n| 0x2000 + n * BUILTINS..n * BUILTINS + BUILTINS).collect();
        assert_eq!(of(&[&[first], &many[..]].concat()), None, "only small ones");
    }
}
