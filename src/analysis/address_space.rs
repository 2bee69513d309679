//! What is where in a process' memory, as far as its system calls and execs show.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What a range of addresses contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    File {
        path: Arc<str>,
        /// The file offset of the first byte of the range.
        offset: u64,
    },
    /// Zero-initialised data of a file's segments.
    Bss(Arc<str>),
    /// Memory without a file: `MAP_ANONYMOUS`.
    Anonymous,
    /// The memory whose end `brk(2)` moves.
    Heap,
    /// The stack of the first thread.
    Stack,
    /// The kernel's code for user programs, `vdso(7)`.
    Vdso,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    end: u64,
    content: Content,
    executable: bool,
}

/// The memory of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressSpace {
    mappings: BTreeMap<u64, Mapping>,
    heap: Option<(u64, u64)>,
}

/// What is at one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) content: Content,
    /// In a file, the file offset of this address.
    pub(super) offset: u64,
    /// Whether code may run here.
    pub(super) executable: bool,
}

impl AddressSpace {
    /// Puts `content` at `from` and replaces what was there.
    pub(super) fn map(&mut self, from: u64, length: u64, content: Content, executable: bool) {
        let end = from.saturating_add(length);
        if from >= end {
            return;
        }
        self.unmap(from, length);
        self.mappings.insert(from, Mapping { end, content, executable });
    }

    /// Empties a range. A mapping that reaches beyond the range keeps the rest.
    pub(super) fn unmap(&mut self, from: u64, length: u64) {
        let end = from.saturating_add(length);
        let before = self.mappings.range(..from).next_back().map(|(start, _)| *start);
        let within = self.mappings.range(from..end).map(|(start, _)| *start);
        let touched: Vec<u64> = before.into_iter().chain(within).collect();
        for start in touched {
            self.cut(start, from, end);
        }
    }

    fn cut(&mut self, start: u64, from: u64, end: u64) {
        let Some(old) = self.mappings.get(&start).cloned() else { return };
        if old.end <= from {
            return;
        }
        self.mappings.remove(&start);
        if old.end > end {
            let content = advanced(&old.content, end - start);
            self.mappings.insert(end, Mapping { content, ..old.clone() });
        }
        if start < from {
            self.mappings.insert(start, Mapping { end: from, ..old });
        }
    }

    /// Moves a range, as `mremap(2)` does. If it grows, the new part continues the old one.
    pub(super) fn remap(&mut self, from: u64, old_length: u64, to: u64, length: u64) {
        let Some(found) = self.find(from) else { return };
        let content = match found.content {
            Content::File { path, .. } => Content::File { path, offset: found.offset },
            other => other,
        };
        self.unmap(from, old_length);
        self.map(to, length, content, found.executable);
    }

    /// Changes whether code may run in a range.
    pub(super) fn protect(&mut self, from: u64, length: u64, executable: bool) {
        let Some(found) = self.find(from) else { return };
        let content = match found.content {
            Content::File { path, .. } => Content::File { path, offset: found.offset },
            other => other,
        };
        if found.executable != executable {
            self.map(from, length, content, executable);
        }
    }

    /// Sets where the heap begins.
    pub(super) fn set_heap(&mut self, from: u64) {
        self.heap = Some((from, from));
    }

    /// Sets where the heap ends: what `brk(2)` returned.
    pub(super) fn set_break(&mut self, end: u64) {
        if let Some((from, old)) = &mut self.heap {
            if *from == *old && end < *from {
                *from = end;
            }
            *old = end.max(*from);
        } else {
            self.heap = Some((end, end));
        }
    }

    pub(super) fn find(&self, address: u64) -> Option<Found> {
        if let Some((from, end)) = self.heap
            && (from..end).contains(&address)
        {
            return Some(Found { content: Content::Heap, offset: 0, executable: false });
        }
        let (start, mapping) = self.mappings.range(..=address).next_back()?;
        if address >= mapping.end {
            return None;
        }
        let offset = match &mapping.content {
            Content::File { offset, .. } => offset.wrapping_add(address - start),
            _ => 0,
        };
        Some(Found { content: mapping.content.clone(), offset, executable: mapping.executable })
    }
}

fn advanced(content: &Content, by: u64) -> Content {
    match content {
        Content::File { path, offset } => {
            Content::File { path: Arc::clone(path), offset: offset.wrapping_add(by) }
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(offset: u64) -> Content {
        Content::File { path: "f".into(), offset }
    }

    #[test]
    fn a_mapping_inside_another_leaves_both_ends_of_it() {
        let mut space = AddressSpace::default();
        space.map(0x1000, 0x3000, file(0), true);
        space.map(0x2000, 0x1000, Content::Anonymous, false);
        assert_eq!(space.find(0x1fff).unwrap().offset, 0xfff);
        assert_eq!(space.find(0x2000).unwrap().content, Content::Anonymous);
        let end = space.find(0x3010).unwrap();
        assert_eq!((end.content, end.offset, end.executable), (file(0x2000), 0x2010, true));
        assert_eq!(space.find(0x4000), None);
        assert_eq!(space.find(0xfff), None);
    }

    #[test]
    fn unmapping_everything_leaves_nothing_even_at_the_ends_of_the_address_space() {
        let mut space = AddressSpace::default();
        space.map(0, 0x1000, file(0), false);
        space.map(u64::MAX - 10, 100, file(0), false);
        assert!(space.find(u64::MAX - 1).is_some());
        space.unmap(0, u64::MAX);
        assert!(space.mappings.is_empty());
        space.map(5, 0, file(0), false);
        assert!(space.mappings.is_empty());
    }

    #[test]
    fn a_moved_mapping_keeps_its_offset() {
        let mut space = AddressSpace::default();
        space.map(0x1000, 0x2000, file(0x5000), false);
        space.remap(0x2000, 0x1000, 0x9000, 0x4000);
        assert_eq!(space.find(0x9001).unwrap().offset, 0x6001);
        assert_eq!(space.find(0x2000), None);
        assert_eq!(space.find(0x1000).unwrap().offset, 0x5000);
    }

    #[test]
    fn the_heap_ends_where_brk_says() {
        let mut space = AddressSpace::default();
        space.set_heap(0x1000);
        assert_eq!(space.find(0x1000), None);
        space.set_break(0x3000);
        assert_eq!(space.find(0x2fff).unwrap().content, Content::Heap);
        space.set_break(0x2000);
        assert_eq!(space.find(0x2fff), None);
    }
}
