//! The memory that the loader allocates before the C library is there (`elf/dl-minimal-malloc.c`). Each time that it runs
//! out, it asks the kernel for more.

use crate::inspect::headers::PAGE;

#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// Where the next block begins in the current piece of memory, which ends at a multiple of the page size.
    next: u64,
    end: u64,
    /// Where the last block begins.
    last: u64,
    /// How often the kernel was asked for memory.
    pub(super) requests: u64,
    /// How many pages of that memory are in use.
    pub(super) pages: u64,
}

/// More than any table or thread needs, in bytes.
const MAX_BLOCK_BYTES: u64 = 1 << 32;

/// A block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block(u64);

impl Memory {
    /// `spare`: how much is left in the last page of the loader's own variables.
    pub(super) fn new(spare: u64) -> Memory {
        Memory { next: PAGE - spare, end: PAGE, last: 0, requests: 0, pages: 0 }
    }

    pub(super) fn allocate(&mut self, size: u64) -> Block {
        let size = size.min(MAX_BLOCK_BYTES); // damaged files may ask for anything
        self.next = self.next.next_multiple_of(16);
        if self.next.saturating_add(size) >= self.end {
            let length = size.next_multiple_of(PAGE) + PAGE;
            self.requests += 1;
            (self.next, self.end) = (0, length);
        }
        if self.requests > 0 {
            self.pages += pages(self.next + size) - pages(self.next);
        }
        self.last = self.next;
        self.next += size;
        Block(self.last)
    }

    /// Only the last block can be freed.
    pub(super) fn free(&mut self, block: Option<Block>) {
        if block.is_some_and(|block| block.0 == self.last) {
            self.next = self.last;
        }
    }

    pub(super) fn text(&mut self, length: usize) -> Block {
        self.allocate(length as u64 + 1)
    }
}

/// How many pages hold that many bytes.
fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_requested_when_the_rest_is_too_small() {
        let mut memory = Memory::new(100);
        memory.allocate(50);
        assert_eq!(memory.requests, 0);
        memory.allocate(50);
        assert_eq!((memory.requests, memory.pages), (1, 1));
        memory.allocate(8191 - 64);
        assert_eq!((memory.requests, memory.pages), (1, 2));
        memory.allocate(1);
        assert_eq!((memory.requests, memory.pages), (2, 3));
    }

    #[test]
    fn the_last_block_can_be_used_again() {
        let mut memory = Memory::new(4096);
        let first = memory.allocate(16);
        let last = memory.allocate(4000);
        memory.free(Some(first));
        memory.free(Some(last));
        memory.allocate(4000);
        assert_eq!(memory.requests, 0);
    }
}
