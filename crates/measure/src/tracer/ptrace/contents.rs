//! Reads what the buffers among the arguments of a call contain.

use super::tracee::{EnteredCall, TracedThread};
use crate::arch::{Abi, Buffer, buffers};
use crate::tracer::event::{Content, WantedContents};

/// The contents of a call's buffers, after it has returned `result`.
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
        (Buffer::WrittenMessage, _) => message(tracee, entry.call.abi, from),
        (Buffer::Read | Buffer::Path, Ok(stored)) => vec![(from, stored)],
        (Buffer::ReadVector, Ok(stored)) => filled(vector(tracee, entry.call.abi, from, next), stored),
        (Buffer::ReadMessage, Ok(stored)) => filled(message(tracee, entry.call.abi, from), stored),
        (_, Err(_)) => Vec::new(), // the kernel has stored nothing
    };
    all.into_iter().map(|(from, length)| content(tracee, from, length, wanted.bytes)).collect()
}

/// The first buffers of an array of `struct iovec`: addresses and lengths.
fn vector(tracee: TracedThread, abi: Abi, from: u64, count: u64) -> Vec<(u64, u64)> {
    let count = usize::try_from(count & 0xffff_ffff).unwrap_or(0).min(WantedContents::MOST_BUFFERS);
    let mut room = [0; 16 * WantedContents::MOST_BUFFERS];
    let room = &mut room[..count * if abi == Abi::Compat { 8 } else { 16 }];
    let read = tracee.read_memory(from, room);
    pairs(abi, &room[..read])
}

/// The buffers of a `struct msghdr`, after whose name and its length are the address and the length of their array.
fn message(tracee: TracedThread, abi: Abi, from: u64) -> Vec<(u64, u64)> {
    let mut room = [0; 32];
    let room = &mut room[..if abi == Abi::Compat { 16 } else { 32 }];
    let read = tracee.read_memory(from, room);
    let array = pairs(abi, &room[..read]).get(1).copied();
    array.map_or_else(Vec::new, |(array, count)| vector(tracee, abi, array, count))
}

/// Words of the program, in pairs.
fn pairs(abi: Abi, bytes: &[u8]) -> Vec<(u64, u64)> {
    let words: Vec<u64> = match abi {
        Abi::Compat => bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word).into()).collect(),
        Abi::Native => bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect(),
    };
    words.as_chunks::<2>().0.iter().map(|[first, second]| (*first, *second)).collect()
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

fn content(tracee: TracedThread, from: u64, length: u64, most: u16) -> Content {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(most.into())];
    let read = tracee.read_memory(from, &mut bytes);
    if read == bytes.len() {
        return Content { length, bytes, unreadable: None };
    }
    Content { length, bytes: Vec::new(), unreadable: Some(from) }
}
