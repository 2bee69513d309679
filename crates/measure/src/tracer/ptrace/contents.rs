//! Reads what the buffers among the arguments of a call contain.

use super::tracee::{EnteredCall, TracedThread};
use crate::arch::{Abi, Buffer, buffers};
use crate::tracer::event::{Content, WantedContents};

/// The contents of a call's buffers, after it has returned `result`. Buffers that cannot be read are left out.
pub(super) fn contents(
    tracee: TracedThread,
    entry: &EnteredCall,
    result: i64,
    wanted: WantedContents,
) -> Vec<Content> {
    let Some((at, kind)) = buffers().get(entry.call).filter(|(_, kind)| wanted.wants(*kind)) else {
        return Vec::new();
    };
    let [from, next] = [at, at + 1].map(|at| entry.arguments[usize::from(at)]);
    let stored = u64::try_from(result);
    let all = match (kind, stored) {
        (Buffer::Written, _) => vec![(from, next)],
        (Buffer::WrittenVector, _) => vector(tracee, entry.call.abi, from, next),
        (Buffer::Read | Buffer::Path, Ok(stored)) => vec![(from, stored)],
        (Buffer::ReadVector, Ok(stored)) => filled(vector(tracee, entry.call.abi, from, next), stored),
        (_, Err(_)) => Vec::new(), // the kernel has stored nothing
    };
    all.into_iter().filter_map(|(from, length)| content(tracee, from, length, wanted.bytes)).collect()
}

/// The first buffers of an array of `struct iovec`: addresses and lengths.
fn vector(tracee: TracedThread, abi: Abi, from: u64, count: u64) -> Vec<(u64, u64)> {
    let count = usize::try_from(count & 0xffff_ffff).unwrap_or(0).min(WantedContents::MOST_BUFFERS);
    let mut room = [0; 16 * WantedContents::MOST_BUFFERS];
    let room = &mut room[..count * if abi == Abi::Compat { 8 } else { 16 }];
    let read = tracee.read_memory(from, room);
    let room = &room[..read];
    let words: Vec<u64> = match abi {
        Abi::Compat => room.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word).into()).collect(),
        Abi::Native => room.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect(),
    };
    words.as_chunks::<2>().0.iter().map(|[address, length]| (*address, *length)).collect()
}

/// The buffers as far as the kernel has filled them, one after another.
fn filled(buffers: Vec<(u64, u64)>, mut stored: u64) -> Vec<(u64, u64)> {
    let filled = buffers.into_iter().map(|(address, room)| {
        let length = room.min(stored);
        stored -= length;
        (address, length)
    });
    filled.collect()
}

fn content(tracee: TracedThread, from: u64, length: u64, most: u16) -> Option<Content> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(most.into())];
    let read = tracee.read_memory(from, &mut bytes);
    (read == bytes.len()).then_some(Content { length, bytes })
}
