//! Random memory and memory of given words, for the tests of readers.

use super::frame::{RawFrame, Stopped};
use crate::tracer::ptrace::place::StoppedAt;
use std::collections::HashMap;

/// Memory below one MiB whose words are those of `word`; `None`: the address of a place near it, so pointers lead somewhere.
pub(super) fn random(
    seed: u64,
    word: impl Fn(&mut fastrand::Rng) -> Option<u64>,
) -> impl Fn(u64, &mut [u8]) -> usize {
    move |address, room| {
        let mut random = fastrand::Rng::with_seed(seed ^ address);
        for place in room.chunks_exact_mut(8) {
            let value = word(&mut random).unwrap_or_else(|| near(&mut random));
            place.copy_from_slice(&value.to_le_bytes());
        }
        if address < 0x10_0000 { room.len() } else { 0 }
    }
}

/// Memory with these words: address and value each. The others are 0.
pub(super) fn words(known: Vec<(u64, u64)>) -> impl Fn(u64, &mut [u8]) -> usize {
    let known: HashMap<u64, u64> = known.into_iter().collect();
    move |page, room| {
        for (address, place) in (page..).step_by(8).zip(room.chunks_exact_mut(8)) {
            place.copy_from_slice(&known.get(&address).copied().unwrap_or_default().to_le_bytes());
        }
        room.len()
    }
}

/// The address of a place in it.
pub(super) fn near(random: &mut fastrand::Rng) -> u64 {
    0x1000 * random.u64(1..16) + 8 * random.u64(0..512)
}

/// A thread with this thread pointer and an empty stack.
pub(super) fn at(thread_pointer: u64) -> Stopped<'static> {
    Stopped { place: StoppedAt { thread_pointer, ..StoppedAt::default() }, stack: &[] }
}

/// Every frame has its names.
pub(super) fn named(frames: &[RawFrame]) {
    for frame in frames {
        frame.named();
    }
}
