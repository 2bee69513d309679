//! The memory of a stopped program, page by page: an interpreter's frames lie near each other, and each system call costs
//! about a microsecond.

const PAGE_BYTES: usize = 4096;
const PAGE: u64 = PAGE_BYTES as u64;
/// More pages than any stack of frames needs that is not damaged.
const MAX_PAGES: usize = 4096;

/// Pages that were read since the last [`Memory::forget`].
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pages: Vec<Page>,
    /// How many of them are in use. The others keep their room.
    used: usize,
    /// The page that was read last.
    last: usize,
}

#[derive(Debug)]
struct Page {
    address: u64,
    bytes: Box<[u8; PAGE_BYTES]>,
    readable: bool,
}

/// Reads whole pages: from an address into the room; returns the number of bytes.
pub(crate) type Source<'s> = dyn Fn(u64, &mut [u8]) -> usize + 's;

/// Memory of which parts are known.
#[cfg(feature = "bpf")]
pub(crate) trait Parts {
    /// Fills the room from an address on. `None`: not all of it is known.
    fn fill(&self, address: u64, room: &mut [u8]) -> Option<()>;
}

/// Memory that can be asked.
pub(crate) struct Reader<'m> {
    from: From<'m>,
    unknown: u64,
}

enum From<'m> {
    Pages {
        memory: &'m mut Memory,
        source: &'m Source<'m>,
    },
    #[cfg(feature = "bpf")]
    Parts(&'m dyn Parts),
}

impl Memory {
    /// To be called when the program goes on.
    pub(crate) fn forget(&mut self) {
        self.used = 0;
        self.last = 0;
    }

    pub(crate) fn reader<'m>(&'m mut self, source: &'m Source<'m>) -> Reader<'m> {
        Reader { from: From::Pages { memory: self, source }, unknown: 0 }
    }

    fn page(&mut self, address: u64, source: &Source<'_>) -> Option<&Page> {
        let is_it = |page: &Page| page.address == address;
        let known = self.pages[..self.used].get(self.last).is_some_and(is_it);
        let known = if known { Some(self.last) } else { self.pages[..self.used].iter().rposition(is_it) };
        let index = match known {
            Some(index) => index,
            None if self.used == MAX_PAGES => return None,
            None => self.read(address, source),
        };
        self.last = index;
        self.pages.get(index).filter(|page| page.readable)
    }

    fn read(&mut self, address: u64, source: &Source<'_>) -> usize {
        if self.used == self.pages.len() {
            self.pages.push(Page { address, bytes: Box::new([0; PAGE_BYTES]), readable: false });
        }
        let page = &mut self.pages[self.used];
        page.address = address;
        page.readable = source(address, &mut page.bytes[..]) == page.bytes.len();
        self.used += 1;
        self.used - 1
    }

    /// Fills the room from an address on.
    fn fill(&mut self, mut address: u64, mut room: &mut [u8], source: &Source<'_>) -> Option<()> {
        while !room.is_empty() {
            let inside = address % PAGE;
            let page = self.page(address - inside, source)?;
            let from = usize::try_from(inside).ok()?;
            let length = room.len().min(page.bytes.len() - from);
            room[..length].copy_from_slice(&page.bytes[from..from + length]);
            room = &mut room[length..];
            address = address.checked_add(length as u64)?;
        }
        Some(())
    }
}

impl<'m> Reader<'m> {
    #[cfg(feature = "bpf")]
    pub(crate) fn of_parts(parts: &'m dyn Parts) -> Reader<'m> {
        Reader { from: From::Parts(parts), unknown: 0 }
    }

    /// How often it was asked for what is not among the known parts. Pages of a stopped program are all known.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Fills the room from an address on.
    pub(crate) fn fill(&mut self, address: u64, room: &mut [u8]) -> Option<()> {
        match &mut self.from {
            From::Pages { memory, source } => memory.fill(address, room, *source),
            #[cfg(feature = "bpf")]
            From::Parts(parts) => {
                let filled = parts.fill(address, room);
                self.unknown += u64::from(filled.is_none());
                filled
            }
        }
    }

    pub(crate) fn word(&mut self, address: u64) -> Option<u64> {
        let mut room = [0; 8];
        self.fill(address, &mut room)?;
        Some(u64::from_le_bytes(room))
    }

    pub(crate) fn half(&mut self, address: u64) -> Option<u32> {
        let mut room = [0; 4];
        self.fill(address, &mut room)?;
        Some(u32::from_le_bytes(room))
    }

    pub(crate) fn quarter(&mut self, address: u64) -> Option<u16> {
        let mut room = [0; 2];
        self.fill(address, &mut room)?;
        Some(u16::from_le_bytes(room))
    }

    pub(crate) fn byte(&mut self, address: u64) -> Option<u8> {
        let mut room = [0];
        self.fill(address, &mut room)?;
        Some(room[0])
    }

    /// Up to a zero byte; `None` also if there are more than `most` bytes before it.
    pub(crate) fn c_string(&mut self, address: u64, most: u64) -> Option<String> {
        let mut bytes = Vec::new();
        for at in 0..=most {
            match self.byte(address.checked_add(at)?)? {
                0 => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                byte => bytes.push(byte),
            }
        }
        None
    }

    /// Much at once, not by pages. `None` also if there are more than `most` bytes.
    pub(crate) fn text(&mut self, address: u64, length: u64, most: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(Some(length).filter(|length| *length <= most)?).ok()?;
        let mut room = vec![0; length];
        let is_filled = match &self.from {
            From::Pages { source, .. } => source(address, &mut room) == length,
            #[cfg(feature = "bpf")]
            From::Parts(_) => self.fill(address, &mut room).is_some(),
        };
        is_filled.then_some(room)
    }

    /// `None` also if there are more than `most` bytes.
    pub(crate) fn bytes(&mut self, address: u64, length: u64, most: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(Some(length).filter(|length| *length <= most)?).ok()?;
        let mut room = vec![0; length];
        self.fill(address, &mut room)?;
        Some(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn each_page_is_read_once_until_the_program_goes_on() {
        let reads = Cell::new(0);
        let source = |address: u64, room: &mut [u8]| {
            reads.set(reads.get() + 1);
            room.fill((address / PAGE).to_le_bytes()[0]);
            if address < 3 * PAGE { room.len() } else { 7 }
        };
        let mut memory = Memory::default();
        let mut reader = memory.reader(&source);
        assert_eq!(reader.word(PAGE), Some(0x0101_0101_0101_0101));
        assert_eq!(reader.word(2 * PAGE - 4), Some(0x0202_0202_0101_0101));
        assert_eq!(
            (reader.half(PAGE + 4), reader.byte(2 * PAGE), reads.get()),
            (Some(0x0101_0101), Some(2), 2)
        );
        assert_eq!(
            (reader.word(3 * PAGE - 4), reader.word(u64::MAX - 3)),
            (None, None),
            "not readable, no address"
        );
        assert_eq!((reader.bytes(PAGE, 9, 8), reader.bytes(PAGE, 2, 8)), (None, Some(vec![1, 1])));

        let before = reads.get();
        memory.forget();
        assert_eq!(memory.reader(&source).byte(PAGE), Some(1));
        assert_eq!(reads.get(), before + 1);
    }
}
