//! Counts the page faults that touching memory takes.
//!
//! A fault on a page of a file maps the pages around it, too, as far as they are in the page cache: those of the same 64 KiB
//! (`do_fault_around` in `mm/memory.c`; `fault_around_bytes` of debugfs). A write copies one page. How the pages of a file lie
//! in those 64 KiB depends on the address, which is random, so there are a mean and a minimum.

use super::headers::{Elf, PAGE, Segment};
use std::collections::BTreeMap;
use std::ops::Range;

/// How many pages one fault maps at most.
pub(super) const AROUND: u64 = 16;

/// Page faults: their mean, and how many there are at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// The mean, in sixteenths of a fault.
    sixteenths: u64,
    pub(super) least: u64,
}

impl Faults {
    pub(super) const fn exactly(count: u64) -> Faults {
        Faults::between(count, count)
    }

    /// They may happen, or not.
    pub(super) const fn expected(count: u64) -> Faults {
        Faults::between(0, count)
    }

    pub(super) const fn between(least: u64, expected: u64) -> Faults {
        Faults { sixteenths: expected.saturating_mul(AROUND), least }
    }

    pub(super) fn mean(sum: u64, of: u64, least: u64) -> Faults {
        Faults { sixteenths: sum.saturating_mul(AROUND) / of.max(1), least }
    }

    pub(super) fn sixteenths(self) -> u64 {
        self.sixteenths
    }

    /// The same with a smaller minimum.
    pub(super) fn with_up_to(self, fewer: u64) -> Faults {
        Faults { least: self.least.saturating_sub(fewer), ..self }
    }
}

impl std::ops::Add for Faults {
    type Output = Faults;

    fn add(self, other: Faults) -> Faults {
        Faults {
            sixteenths: self.sixteenths.saturating_add(other.sixteenths),
            least: self.least.saturating_add(other.least),
        }
    }
}

/// One access to a page, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touch {
    page: u64,
    is_write: bool,
    /// Whether it happens in each start.
    is_certain: bool,
}

/// What is done with the memory of one program or library, in order.
#[derive(Clone, Debug)]
pub(super) struct Touches {
    /// The pages of each mapping, and whether they are of the file.
    mappings: Vec<(Range<u64>, bool)>,
    all: Vec<Touch>,
    has_fixed_address: bool,
}

/// The kernel joins mappings of neighbouring pages of a file with the same rights. In a program for i386 that does not say
/// otherwise, what can be read can be executed.
fn are_one(elf: &Elf, before: &Segment, next: &Segment) -> bool {
    let all_execute = elf.machine_name == "i386" && !elf.segments.iter().any(|s| s.kind == "GNU_STACK");
    let rights = |segment: &Segment| {
        let is = |right| segment.flags.contains(right);
        (is('r'), is('w'), is('x') || (all_execute && is('r')))
    };
    let is_next = |from: u64, to: u64| (from / PAGE).checked_add(before.file_pages) == Some(to / PAGE);
    rights(before) == rights(next)
        && is_next(before.address, next.address)
        && is_next(before.offset, next.offset)
}

/// No more pages than this are looked at, because damaged headers may name any number.
const MAX_PAGES: u64 = 1 << 16;

impl Touches {
    pub(super) fn new(elf: &Elf) -> Touches {
        let mut mappings: Vec<(Range<u64>, bool)> = Vec::new();
        let mut before: Option<&Segment> = None;
        for segment in elf.loads() {
            let first = segment.address / PAGE;
            let there = elf.size.saturating_sub(segment.offset / PAGE * PAGE).div_ceil(PAGE);
            let end = first.saturating_add(segment.file_pages);
            let end_there = end.min(first.saturating_add(there));
            match mappings.last_mut() {
                Some((pages, true)) if before.is_some_and(|before| are_one(elf, before, segment)) => {
                    pages.end = end_there.max(pages.end);
                }
                _ => mappings.push((first..end_there, true)),
            }
            if segment.zero_pages > 0 {
                mappings.push((end..end.saturating_add(segment.zero_pages), false));
            }
            before = Some(segment);
        }
        let has_fixed_address = elf.loads().next().is_some_and(|first| first.address >= PAGE);
        Touches { mappings, all: Vec::new(), has_fixed_address }
    }

    /// Whether there is a page with this number.
    pub(super) fn has(&self, page: u64) -> bool {
        self.mappings.iter().any(|(pages, _)| pages.contains(&page))
    }

    pub(super) fn page(&mut self, page: u64, is_write: bool, is_certain: bool) {
        self.all.push(Touch { page, is_write, is_certain });
    }

    pub(super) fn address(&mut self, address: u64, is_write: bool, is_certain: bool) {
        self.page(address / PAGE, is_write, is_certain);
    }

    /// All pages of a range of addresses.
    pub(super) fn range(&mut self, from: u64, size: u64, is_write: bool, is_certain: bool) {
        if size == 0 {
            return;
        }
        let last = from.saturating_add(size - 1) / PAGE;
        let pages = (from / PAGE..=last).take(usize::try_from(MAX_PAGES).unwrap_or(usize::MAX));
        self.all.extend(pages.map(|page| Touch { page, is_write, is_certain }));
    }

    /// The mean and the minimum over all places of the file in 64 KiB.
    pub(super) fn faults(&self) -> Faults {
        let places = if self.has_fixed_address { 1 } else { AROUND };
        let counts = |only_certain: bool| (0..places).map(move |shift| self.count(shift, only_certain));
        let sum: u64 = counts(false).sum();
        Faults::mean(sum, places, counts(true).min().unwrap_or(0))
    }

    fn count(&self, shift: u64, only_certain: bool) -> u64 {
        // whether a page that is mapped can be written to
        let mut mapped: BTreeMap<u64, bool> = BTreeMap::new();
        let mut faults = 0;
        for touch in self.all.iter().filter(|touch| touch.is_certain || !only_certain) {
            let within = self.mappings.iter().find(|(pages, _)| pages.contains(&touch.page));
            let Some((pages, is_file)) = within else { continue };
            match mapped.get(&touch.page) {
                Some(is_writable) if *is_writable || !touch.is_write => continue,
                _ => faults += 1,
            }
            mapped.insert(touch.page, touch.is_write);
            if *is_file && !touch.is_write {
                let from = ((touch.page + shift) / AROUND * AROUND).saturating_sub(shift).max(pages.start);
                for page in from..from.saturating_add(AROUND).min(pages.end) {
                    mapped.entry(page).or_insert(false);
                }
            }
        }
        faults
    }

    /// How many pieces of 64 KiB the executable pages have.
    pub(super) fn code_pieces(elf: &Elf) -> u64 {
        let code = elf.loads().filter(|s| s.flags.contains('x'));
        code.map(|s| s.file_pages.div_ceil(AROUND)).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(pages: Range<u64>, all: &[(u64, bool)], has_fixed_address: bool) -> Faults {
        let all =
            all.iter().map(|(page, is_write)| Touch { page: *page, is_write: *is_write, is_certain: true });
        Touches { mappings: vec![(pages, true)], all: all.collect(), has_fixed_address }.faults()
    }

    #[test]
    fn a_fault_maps_the_pages_around_it_and_a_write_copies_one() {
        assert_eq!(touches(0..40, &[(0, false), (15, false)], true), Faults::exactly(1));
        assert_eq!(touches(0..40, &[(0, false), (16, false)], true), Faults::exactly(2));
        assert_eq!(touches(0..40, &[(0, false), (1, true), (1, true), (2, true)], true), Faults::exactly(3));
        assert_eq!(touches(0..40, &[(1, true), (2, true), (1, false)], true), Faults::exactly(2));
    }

    #[test]
    fn the_place_in_memory_decides_what_is_around() {
        // two neighbours are in one piece, except in one of sixteen places
        assert_eq!(touches(0..40, &[(20, false), (21, false)], false), Faults::mean(17, 16, 1));
        // at the start of a mapping, the sixteen pages begin with it
        assert_eq!(touches(0..40, &[(0, false), (15, false)], false), Faults::exactly(1));
    }

    #[test]
    fn what_is_not_mapped_takes_no_fault() {
        assert_eq!(touches(0..4, &[(9, false)], true), Faults::default());
    }
}
