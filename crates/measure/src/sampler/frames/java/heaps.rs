//! `HotSpot`'s code cache: which piece of generated code an address belongs to (`CodeHeap::find_start`).

use super::super::memory::Reader;
use super::tables::{CodeStart, Tables};

/// More heaps are a damaged list: there are one or three.
const MAX_HEAPS: u32 = 8;
/// A part of a piece of code says how many parts before it the piece begins, but not more than one byte holds.
const FREE: u8 = 0xff;
const MAX_HOPS: usize = 1 << 16;
/// The longest names, bytes.
const MAX_NAME: u64 = 256;

/// A piece of generated code.
#[derive(Clone, Debug)]
pub(super) struct Blob {
    /// What it is: `Interpreter`, `nmethod`, `StubRoutines (1)`.
    pub(super) name: String,
    pub(super) address: u64,
    /// Its frames' size in bytes; 0: it has none, or they differ.
    pub(super) frame: u64,
    /// Where its instructions begin.
    pub(super) code: u64,
    /// From here on, its frame is complete.
    pub(super) complete: u64,
}

impl Blob {
    /// `None`: the address is in no generated code.
    pub(super) fn at(ip: u64, tables: &Tables, bias: u64, memory: &mut Reader<'_>) -> Option<Blob> {
        let heaps = memory.word(tables.heaps.wrapping_add(bias))?;
        let [length, elements] = tables.array;
        let (count, elements) =
            (memory.half(heaps.wrapping_add(length))?, memory.word(heaps.wrapping_add(elements))?);
        (0..count.min(MAX_HEAPS)).find_map(|n| {
            let heap = memory.word(elements.wrapping_add(8 * u64::from(n)))?;
            let address = start(ip, heap, tables, memory)?;
            Blob::read(address, tables, memory)
        })
    }

    fn read(address: u64, tables: &Tables, memory: &mut Reader<'_>) -> Option<Blob> {
        let layout = &tables.blob;
        let name = memory.word(address.wrapping_add(layout.name))?;
        let code = match layout.code {
            CodeStart::Address(at) => memory.word(address.wrapping_add(at))?,
            CodeStart::Offset(at) => address.wrapping_add(memory.half(address.wrapping_add(at))?.into()),
        };
        let complete = address.wrapping_add(layout.frame_complete);
        let complete = if layout.is_complete_short {
            i64::from(memory.quarter(complete)?.cast_signed())
        } else {
            i64::from(memory.half(complete)?.cast_signed())
        };
        let words = memory.half(address.wrapping_add(layout.frame_size))?.cast_signed();
        Some(Blob {
            name: memory.c_string(name, MAX_NAME)?,
            address,
            code,
            frame: 8 * u64::try_from(words).unwrap_or_default(),
            complete: code.wrapping_add_signed(complete),
        })
    }
}

/// Where the piece begins that an address is in.
fn start(ip: u64, heap: u64, tables: &Tables, memory: &mut Reader<'_>) -> Option<u64> {
    let layout = &tables.heap;
    let [low, high] = layout.space.map(|at| memory.word(heap.wrapping_add(layout.memory).wrapping_add(at)));
    let low = low.filter(|low| *low <= ip && high.is_some_and(|high| ip < high))?;
    let segments = memory.word(heap.wrapping_add(layout.segments).wrapping_add(layout.space[0]))?;
    let log2 = memory.half(heap.wrapping_add(layout.log2_segment))?;

    let mut segment = (ip - low).checked_shr(log2)?;
    for _ in 0..MAX_HOPS {
        let before = memory.byte(segments.wrapping_add(segment)).filter(|before| *before != FREE)?;
        if before == 0 {
            let block = low.wrapping_add(segment.checked_shl(log2)?);
            let is_used = memory.byte(block.wrapping_add(layout.is_used))? != 0;
            return is_used.then(|| block.wrapping_add(layout.header));
        }
        segment = segment.checked_sub(before.into())?;
    }
    None
}
