//! Which methods compiled code has inlined where (`PcDesc` and `DebugInfoReadStream` of `src/hotspot/share/code/`).
//!
//! `HotSpot` notes this for the places at which it may stop a thread, such as calls and the ends of loops. An instruction
//! between two of them counts for the scope of the next one, as it does for `AsyncGetCallTrace`.

use super::super::memory::Reader;
use super::heaps::Blob;
use super::methods::Numbers;
use super::tables::{Part, ScopesLayout};

/// More are damaged memory.
const MAX_PLACES: u64 = 1 << 20;
const MAX_SCOPES: usize = 256;
/// Three numbers of five bytes.
const MAX_SCOPE: u64 = 15;

/// A method that runs in compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) method: u64,
    /// Where in its bytecode; `None`: the instruction is between two places that are known.
    pub(super) offset: Option<i64>,
}

/// Reads the scopes of one piece of code.
pub(super) struct ScopeReader<'r, 'm> {
    pub(super) layout: &'r ScopesLayout,
    pub(super) numbers: Numbers,
    pub(super) memory: &'r mut Reader<'m>,
}

impl ScopeReader<'_, '_> {
    /// The methods at an instruction, the innermost one first.
    pub(super) fn scopes(&mut self, blob: &Blob, ip: u64) -> Option<Vec<Scope>> {
        let data = self.part(blob, self.layout.data)?;
        let metadata = self.part(blob, self.layout.metadata)?;
        let (mut next, is_exact) = self.place(blob, ip)?;
        let mut scopes = Vec::new();
        while next != 0 && scopes.len() < MAX_SCOPES {
            let bytes = self.memory.bytes(data.wrapping_add(next.into()), MAX_SCOPE, MAX_SCOPE)?;
            let mut bytes = bytes.iter();
            let mut number = || self.numbers.unsigned(&mut bytes);
            let (outer, method, offset) = (number()?, number()?, i64::from(number()?) - 1);
            let method = metadata.wrapping_add(8 * u64::from(method.checked_sub(1)?));
            let method = self.memory.word(method)?;
            scopes.push(Scope { method, offset: Some(offset).filter(|_| is_exact) });
            next = outer;
        }
        Some(scopes)
    }

    /// Where the scope at an instruction, or else at the next known place, is written. Whether it is that of the instruction.
    fn place(&mut self, blob: &Blob, ip: u64) -> Option<(u32, bool)> {
        let [offset, scope, size] = self.layout.of_place;
        let [first, end] = self.layout.places;
        let (first, end) = (self.part(blob, first)?, self.part(blob, end)?);
        let wanted = i64::try_from(ip.checked_sub(blob.code)?).ok()?;
        let count = end.checked_sub(first)?.checked_div(size)?;
        let (mut low, mut high) = (0, Some(count).filter(|count| *count <= MAX_PLACES)?);
        let at = |n: u64| first.wrapping_add(n * size);
        let mut found =
            |n: u64| self.memory.half(at(n).wrapping_add(offset)).map(|it| i64::from(it.cast_signed()));
        while low < high {
            let middle = low.midpoint(high);
            if found(middle)? < wanted { low = middle + 1 } else { high = middle }
        }
        let is_exact = low < count && found(low)? == wanted;
        let scope = self.memory.half(at(low).wrapping_add(scope)).filter(|_| low < count)?;
        Some((scope, is_exact))
    }

    fn part(&mut self, blob: &Blob, part: Part) -> Option<u64> {
        let mut start = blob.address;
        if let Some(address) = part.address {
            start = self.memory.word(start.wrapping_add(address))?;
        }
        let Some(offset) = part.offset else { return Some(start) };
        let offset = self.memory.half(blob.address.wrapping_add(offset))?;
        Some(start.wrapping_add(offset.into()))
    }
}
