//! The rules for unwinding code whose return addresses are signed, as Debian 13 and others compile for arm64.
//!
//! Such code says in `.eh_frame` or `.debug_frame` from which instruction on the return address has a signature in its upper bits
//! (`DW_CFA_AARCH64_negate_ra_state`). The unwinder masks these bits wherever they are, and does not know that instruction: it
//! would give up all rules of the function. So it gets `DW_CFA_nop` instead.
//!
//! The format is that of DWARF 5, section 6.4, for `.eh_frame` with the pointers of the Linux Standard Base, "Exception Frames".

use std::collections::HashMap;

const NOP: u8 = 0;

/// The sections with entries.
#[derive(Clone, Copy)]
pub(super) enum Section {
    EhFrame,
    DebugFrame,
}

impl Section {
    /// The number with which an entry that others share begins, in place of a pointer.
    fn shared(self) -> usize {
        match self {
            Section::EhFrame => 0,
            Section::DebugFrame => 0xffff_ffff,
        }
    }

    /// Where the entry is to which a pointer leads; `place`: of the pointer.
    fn target(self, place: usize, pointer: usize) -> Option<usize> {
        match self {
            Section::EhFrame => place.checked_sub(pointer),
            Section::DebugFrame => Some(pointer),
        }
    }
}

/// What entries for functions need of the entry that they share (CIE).
#[derive(Clone, Copy)]
struct Shared {
    /// Bytes of an address.
    address: usize,
    has_more: bool,
}

/// Replaces the instructions about signatures. An entry that is not understood stays as it is.
pub(super) fn unsigned(bytes: &[u8], section: Section) -> Vec<u8> {
    let (mut shared, mut found) = (HashMap::new(), Vec::new());
    let mut at = 0;
    while let Some(length) = four(bytes, at).filter(|length| *length > 0) {
        let Some(entry) = bytes.get(at + 4..at + 4 + length) else { break };
        let mut cursor = Cursor { bytes: entry, at: 4 };
        let start = match four(entry, 0) {
            Some(id) if id == section.shared() => cursor.shared().inspect(|it| {
                shared.insert(at, *it);
            }),
            Some(pointer) => {
                let target = section.target(at + 4, pointer);
                target.and_then(|at| shared.get(&at)).and_then(|it| cursor.own(*it))
            }
            None => None,
        };
        if let Some(shared) = start {
            found.extend(cursor.signed(shared).into_iter().map(|place| at + 4 + place));
        }
        at += 4 + length;
    }

    let mut unsigned = bytes.to_vec();
    for place in found {
        unsigned[place] = NOP;
    }
    unsigned
}

fn four(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(four)).ok()
}

/// Reads one entry.
struct Cursor<'e> {
    bytes: &'e [u8],
    at: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        self.skip(1)?;
        self.bytes.get(self.at - 1).copied()
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|at| *at <= self.bytes.len())?;
        Some(())
    }

    /// A number in LEB128. The value of a signed one is not needed.
    fn number(&mut self) -> Option<usize> {
        let mut value = 0;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(|_| ()))
    }

    /// An expression, or more data.
    fn block(&mut self) -> Option<()> {
        let length = self.number()?;
        self.skip(length)
    }

    /// Up to the instructions of an entry that others share.
    fn shared(&mut self) -> Option<Shared> {
        let version = self.byte()?;
        let letters = self.bytes.get(self.at..)?.split(|byte| *byte == 0).next()?;
        self.skip(letters.len() + 1)?;
        if version >= 4 {
            self.sizes()?;
        }
        self.numbers(2)?;
        if version == 1 {
            self.skip(1)?;
        } else {
            self.numbers(1)?;
        }

        let Some((b'z', rest)) = letters.split_first() else {
            let is_known = letters.iter().all(|letter| *letter == b'S');
            return is_known.then_some(Shared { address: 8, has_more: false });
        };
        let length = self.number()?;
        let end = self.at.checked_add(length)?;
        let mut address = 8;
        for letter in rest {
            match letter {
                b'R' => address = size(self.byte()?)?,
                b'L' => self.skip(1)?,
                b'P' => {
                    let size = size(self.byte()?)?;
                    self.skip(size)?;
                }
                _ => {}
            }
        }
        self.at = end;
        Some(Shared { address, has_more: true })
    }

    /// Of an address and of a segment's number, from DWARF 4 on. Those of other processors are not understood.
    fn sizes(&mut self) -> Option<()> {
        let sizes = [self.byte()?, self.byte()?];
        (sizes == [8, 0]).then_some(())
    }

    /// Up to the instructions of a function's entry.
    fn own(&mut self, shared: Shared) -> Option<Shared> {
        self.skip(2 * shared.address)?;
        if shared.has_more {
            self.block()?;
        }
        Some(shared)
    }

    /// Where the instructions about signatures are, up to one that is unknown.
    fn signed(&mut self, shared: Shared) -> Vec<usize> {
        let mut found = Vec::new();
        let mut place = self.at;
        while let Some(code) = self.instruction(shared) {
            // DW_CFA_AARCH64_negate_ra_state_with_pc, DW_CFA_AARCH64_negate_ra_state
            if matches!(code, 0x2c | 0x2d) {
                found.push(place);
            }
            place = self.at;
        }
        found
    }

    /// Skips an instruction. `None`: there is none, or it is unknown.
    fn instruction(&mut self, shared: Shared) -> Option<u8> {
        let code = self.byte()?;
        match code {
            // those without an operand
            0x40..=0x7f | 0xc0..=0xff | 0x00 | 0x0a | 0x0b | 0x2c | 0x2d => {}
            // DW_CFA_offset, and those with one register or offset
            0x80..=0xbf | 0x06..=0x08 | 0x0d | 0x0e | 0x13 | 0x2e => self.numbers(1)?,
            // those with two
            0x05 | 0x09 | 0x0c | 0x11 | 0x12 | 0x14 | 0x15 | 0x2f => self.numbers(2)?,
            // DW_CFA_set_loc, DW_CFA_advance_loc1, 2 and 4
            0x01 => self.skip(shared.address)?,
            0x02..=0x04 => self.skip(1 << (code - 2))?,
            // those with an expression
            0x0f => self.block()?,
            0x10 | 0x16 => {
                self.numbers(1)?;
                self.block()?;
            }
            _ => return None,
        }
        Some(code)
    }
}

/// The bytes of a pointer; `None`: its size depends on its value or its place (`DW_EH_PE_aligned`).
fn size(encoding: u8) -> Option<usize> {
    if encoding & 0x70 == 0x50 {
        return None;
    }
    match encoding & 0x0f {
        0x00 | 0x04 | 0x0c => Some(8),
        0x02 | 0x0a => Some(2),
        0x03 | 0x0b => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: usize, body: &[u8]) -> Vec<u8> {
        let lengths = [body.len() + 4, id].map(|it| u32::try_from(it).unwrap().to_le_bytes());
        [lengths.concat(), body.to_vec()].concat()
    }

    /// A shared entry, one for a function of ten bytes, and the end.
    fn section(instructions: &[u8]) -> Vec<u8> {
        // version 1, augmentation `zR`, alignments, link register, one byte more: relative with four bytes
        let shared = entry(0, &[1, b'z', b'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0]);
        let own = [&[0x2d, 0x2d, 0, 0, 10, 0, 0, 0, 0], instructions].concat();
        [shared.clone(), entry(shared.len() + 4, &own), vec![0; 4]].concat()
    }

    /// The same of `.debug_frame`, after an entry of version 1 that others could share.
    fn debug_section(version: u8, instructions: &[u8]) -> Vec<u8> {
        let first = entry(0xffff_ffff, &[1, 0, 4, 0x78, 30, 0x0c, 31, 0]);
        let sizes: &[u8] = if version == 4 { &[8, 0] } else { &[] };
        let shared = entry(0xffff_ffff, &[&[version, 0][..], sizes, &[4, 0x78, 30, 0x0c, 31, 0]].concat());
        let own = [&[0x2d; 8][..], &[10, 0, 0, 0, 0, 0, 0, 0], instructions].concat();
        [first.clone(), shared, entry(first.len(), &own)].concat()
    }

    fn eh_frame(bytes: &[u8]) -> Vec<u8> {
        unsigned(bytes, Section::EhFrame)
    }

    #[test]
    fn instructions_about_signatures_are_left_out_and_nothing_else() {
        let signed = [
            &[0x41, 0x2d, 0x41, 0x0e, 0x2d, 0x9d, 0x2d, 0x9e, 1][..], // advance, sign; an offset of 45; a place of 45
            &[0x02, 0x2d, 0x03, 0x2d, 0x2d, 0x0a, 0x0c, 29, 0x2d, 0xdd, 0x2c], // distances; a rule by two figures
            &[0x10, 30, 2, 0x2d, 0x2d, 0x0f, 1, 0x2d, 0x0e, 0xad, 0x2d, 0x2d], // expressions; a long number
        ]
        .concat();
        let mut wanted = signed.clone();
        for place in [1, 19, 31] {
            wanted[place] = NOP;
        }
        assert_eq!(eh_frame(&section(&signed)), section(&wanted));
        for version in [1, 3, 4] {
            let debug = |instructions: &[u8]| debug_section(version, instructions);
            assert_eq!(unsigned(&debug(&signed), Section::DebugFrame), debug(&wanted));
        }
        let unknown = [0x2d, 0x3f, 0x2d];
        assert_eq!(
            eh_frame(&section(&unknown)),
            section(&[NOP, 0x3f, 0x2d]),
            "what follows is not understood"
        );
    }

    /// A shared entry with these letters, alignments and data, and one for a function with these bytes before its instructions.
    fn lettered(letters: &str, data: &[u8], own: &[u8], instructions: &[u8]) -> Vec<u8> {
        let shared = [&[1], letters.as_bytes(), &[0, 4, 0x78, 30], data, &[0x0c, 31, 0]].concat();
        let shared = entry(0, &shared);
        let own = entry(shared.len() + 4, &[own, instructions].concat());
        [shared, own].concat()
    }

    /// Whether just the instruction after these bytes is found.
    fn is_found(letters: &str, data: &[u8], own: &[u8]) -> bool {
        let of = |instructions: &[u8]| lettered(letters, data, own, instructions);
        let unsigned = eh_frame(&of(&[0x2d]));
        assert!(unsigned == of(&[NOP]) || unsigned == of(&[0x2d]), "{letters}: {unsigned:?}");
        unsigned == of(&[NOP])
    }

    #[test]
    fn frames_of_signals_have_a_letter_and_nothing_else() {
        // two addresses of eight bytes; with `z`, the length of more data follows them
        let (addresses, more) = ([0x0a; 16], [&[0x0a; 16][..], &[0]].concat());
        assert!(is_found("S", &[], &addresses) && is_found("", &[], &addresses));
        assert!(is_found("zS", &[0], &more) && is_found("zSR", &[1, 0], &more));
        assert!(is_found("zRS", &[1, 0x04], &more) && is_found("zPLRS", &[7, 0x1b, 1, 1, 1, 1, 0, 0], &more));
        assert!(!is_found("R", &[0], &addresses), "data without its length is not understood");
    }

    #[test]
    fn addresses_have_the_size_that_the_shared_entry_says() {
        for (encoding, size) in [(0x00, 8), (0x02, 2), (0x03, 4), (0x04, 8), (0x0a, 2), (0x1b, 4), (0x1c, 8)]
        {
            let own = |size: usize| [vec![0x2d; 2 * size], vec![0]].concat();
            assert!(is_found("zR", &[1, encoding], &own(size)), "{encoding:#x}");
            // DW_CFA_set_loc has an address, too
            let set = |instruction| [vec![0x01], vec![0x2d; size], vec![instruction]].concat();
            let of = |instruction| lettered("zR", &[1, encoding], &own(size), &set(instruction));
            assert_eq!(eh_frame(&of(0x2d)), of(NOP), "{encoding:#x}");
        }
        assert!(!is_found("zR", &[1, 0x01], &[0; 17]), "a number of any length");
    }

    #[test]
    fn other_sizes_of_addresses_and_segments_are_not_understood() {
        let (signed, unsigned_one) = (debug_section(4, &[0x2d]), debug_section(4, &[NOP]));
        assert_eq!(unsigned(&signed, Section::DebugFrame), unsigned_one);
        let at = signed.windows(4).position(|bytes| bytes == [4, 0, 8, 0]).unwrap() + 2;
        for (place, other) in [(at, 4), (at, 2), (at + 1, 1), (at + 1, 8)] {
            let mut section = signed.clone();
            section[place] = other;
            assert_eq!(unsigned(&section, Section::DebugFrame), section, "{other} at {place}");
        }
    }

    #[test]
    fn a_pointer_whose_size_depends_on_its_place_is_not_understood() {
        assert_eq!(
            [0x00, 0x1b, 0x9b, 0x50, 0x5b, 0xd0, 0xff].map(size),
            [8, 4, 4, 0, 0, 0, 0].map(|it| (it > 0).then_some(it))
        );
        let mut aligned = section(&[0x2d]);
        aligned[16] = 0x50;
        assert_eq!(eh_frame(&aligned), aligned);
    }

    #[test]
    fn damaged_sections_end() {
        let instructions = [0x2d, 0x16, 30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        let wholes = [
            (section(&instructions), Section::EhFrame),
            (debug_section(4, &instructions), Section::DebugFrame),
        ];
        for (whole, kind) in wholes {
            for length in 0..whole.len() {
                assert_eq!(unsigned(&whole[..length], kind).len(), length);
            }
            for seed in 0..2000 {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut damaged = whole.clone();
                let place = random.usize(0..damaged.len());
                damaged[place] = random.u8(..);
                assert_eq!(unsigned(&damaged, kind).len(), whole.len());
            }
        }
    }
}
