//! The bytes of a file during the search. Each is open, decided, or equal to another.

/// The number of bytes that take part in the search. They contain code and headers.
pub(super) const WINDOW: usize = 128;

/// The first bytes of a file, as far as they are decided. Cells that must have the same byte are linked.
#[derive(Clone)]
pub(super) struct Cells {
    /// The group of linked cells that each cell belongs to, named by one of its cells.
    group: [u8; WINDOW],
    value: [u8; WINDOW],
    /// A bit for each cell whose value is decided.
    decided: u128,
    /// A bit for each cell that is linked to another.
    linked: u128,
    length: usize,
}

impl Cells {
    /// A file of `length` bytes, all of them open.
    pub(super) fn new(length: usize) -> Cells {
        let group = std::array::from_fn(|i| u8::try_from(i).unwrap_or(u8::MAX));
        Cells { group, value: [0; WINDOW], decided: 0, linked: 0, length: length.min(WINDOW) }
    }

    /// The number of bytes that take part.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The byte at this place, if it is decided.
    pub(super) fn get(&self, at: usize) -> Option<u8> {
        (self.decided >> at & 1 == 1).then_some(self.value[at])
    }

    /// The byte at this place, or zero if it is open.
    pub(super) fn or_zero(&self, at: usize) -> u8 {
        self.value[at]
    }

    /// Whether the byte at this place is open.
    pub(super) fn is_free(&self, at: usize) -> bool {
        self.decided >> at & 1 == 0
    }

    /// A bit for each open byte.
    pub(super) fn open(&self) -> u128 {
        let all = if self.length == WINDOW { u128::MAX } else { (1 << self.length) - 1 };
        !self.decided & all
    }

    /// Decides one byte. False if it already has another value, or is beyond the file.
    #[must_use]
    pub(super) fn set(&mut self, at: usize, byte: u8) -> bool {
        if at >= self.length {
            return false;
        }
        if !self.is_free(at) {
            return self.value[at] == byte;
        }
        if self.linked >> at & 1 == 0 {
            self.decide(at, byte);
        } else {
            for other in 0..self.length {
                if self.group[other] == self.group[at] {
                    self.decide(other, byte);
                }
            }
        }
        true
    }

    fn decide(&mut self, at: usize, byte: u8) {
        self.decided |= 1 << at;
        self.value[at] = byte;
    }

    /// Whether an instruction could be at this place: at least one byte is open, and the last byte (which contains the
    /// opcode if the instruction has one unit, and is never zero) is not decided as zero.
    pub(super) fn is_usable(&self, at: usize, unit: usize) -> bool {
        let any_open = self.open() >> at & ((1 << unit) - 1) != 0;
        any_open && (unit < 4 || self.get(at + unit - 1) != Some(0))
    }

    /// Decides several bytes.
    #[must_use]
    pub(super) fn set_all(&mut self, at: usize, bytes: &[u8]) -> bool {
        bytes.iter().enumerate().all(|(i, &byte)| self.set(at + i, byte))
    }

    /// Makes two bytes equal.
    #[must_use]
    pub(super) fn link(&mut self, a: usize, b: usize) -> bool {
        if a >= self.length || b >= self.length {
            return false;
        }
        if let Some(byte) = self.get(a)
            && !self.set(b, byte)
        {
            return false;
        }
        if let Some(byte) = self.get(b)
            && !self.set(a, byte)
        {
            return false;
        }
        let (kept, gone) = (self.group[a], self.group[b]);
        self.group.iter_mut().filter(|group| **group == gone).for_each(|group| *group = kept);
        self.linked |= 1 << a | 1 << b;
        true
    }

    /// The little-endian number in these bytes, open ones taken from `default`.
    pub(super) fn number(&self, at: usize, size: usize, default: u64) -> u64 {
        let default = default.to_le_bytes();
        let mut bytes = [0; 8];
        for i in 0..size {
            bytes[i] = self.get(at + i).unwrap_or(default[i]);
        }
        u64::from_le_bytes(bytes)
    }

    /// The smallest number that these bytes can have and that is at least `least`.
    pub(super) fn least(&self, at: usize, size: usize, least: u64) -> Option<u64> {
        let want = least.to_le_bytes();
        // The number agrees with `least` above byte `i`, exceeds it there, and is as small as can be below.
        let mut best = Some(self.number(at, size, least)).filter(|&n| n == least);
        for i in 0..size {
            let agrees = (i + 1..size).all(|j| self.get(at + j).is_none_or(|b| b == want[j]));
            let byte = self.get(at + i).or(want[i].checked_add(1)).filter(|&b| b > want[i]);
            if let (true, Some(byte)) = (agrees, byte) {
                let above = least & !(u64::MAX >> (56 - 8 * i));
                let number = self.number(at, size, above | u64::from(byte) << (8 * i));
                best = Some(best.map_or(number, |b| b.min(number)));
            }
        }
        best
    }

    /// Decides several bytes, as a number.
    #[must_use]
    pub(super) fn set_number(&mut self, at: usize, size: usize, number: u64) -> bool {
        self.set_all(at, &number.to_le_bytes()[..size])
    }

    /// The bytes, with zeros for open ones.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.value[..self.length].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_cells_have_the_same_byte() {
        let mut cells = Cells::new(8);
        assert!(cells.link(0, 4) && cells.link(4, 6) && cells.set(6, 7));
        assert_eq!((cells.get(0), cells.get(4)), (Some(7), Some(7)));
        assert!(!cells.set(0, 8));
        assert!(cells.set(1, 9) && !cells.link(0, 1));
    }

    #[test]
    fn the_smallest_number_above_a_bound_is_found() {
        let mut cells = Cells::new(4);
        assert!(cells.set(1, 0x10));
        assert_eq!(cells.least(0, 4, 0), Some(0x1000));
        assert_eq!(cells.least(0, 4, 0x1005), Some(0x1005));
        assert_eq!(cells.least(0, 4, 0x1105), Some(0x1_1000));
        assert!(cells.set(3, 0) && cells.set(2, 0));
        assert_eq!(cells.least(0, 4, 0x1105), None);
    }
}
