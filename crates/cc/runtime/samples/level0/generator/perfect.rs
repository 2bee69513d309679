//! A perfect hash: every word of the list has a slot of its own, in which 32 bits of its hash are kept. The slot depends on
//! the other bits, too, so fewer than one unknown word in a billion is taken for known. The words of a bucket share a
//! pilot, a number found by trying, which leads all of them to free slots; large buckets choose first (D. Belazzougui,
//! F. Botelho, M. Dietzfelbinger, "Hash, displace, and compress", 2009).

use crate::hash;
use crate::table::array;

const BUCKETS: usize = 1 << 16;
const SLOT_BITS: u32 = 18;

/// The slot of a word with this hash.
fn slot(hash: u64, pilot: u32) -> usize {
    let mixed = (hash as u32 ^ (hash >> 32) as u32 ^ pilot.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    (mixed >> (32 - SLOT_BITS)) as usize
}

/// The pilots and the slots.
fn placed(words: &[Vec<u8>]) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut buckets = vec![Vec::new(); BUCKETS];
    for word in words {
        let hash = hash::of(word);
        buckets[(hash >> 48) as usize].push(hash);
    }
    let mut order: Vec<usize> = (0..BUCKETS).collect();
    order.sort_by_key(|&bucket| std::cmp::Reverse(buckets[bucket].len()));

    let (mut pilots, mut slots) = (vec![0; BUCKETS], vec![None; 1 << SLOT_BITS]);
    for bucket in order {
        pilots[bucket] = (0..1 << 16).find(|&pilot| place(&buckets[bucket], pilot, &mut slots))?;
    }
    Some((pilots, slots.into_iter().map(Option::unwrap_or_default).collect()))
}

/// Places all words of a bucket, or none of them.
fn place(bucket: &[u64], pilot: u32, slots: &mut [Option<u32>]) -> bool {
    for (index, &hash) in bucket.iter().enumerate() {
        let free = &mut slots[slot(hash, pilot)];
        if free.is_some() {
            bucket[..index].iter().for_each(|&placed| slots[slot(placed, pilot)] = None);
            return false;
        }
        *free = Some(hash as u32);
    }
    true
}

/// The table as a C header; `None` if no pilot separates the words of a bucket.
pub fn header(words: &[Vec<u8>]) -> Option<String> {
    let (pilots, slots) = placed(words)?;
    let mut text = "/* Written by generate; see generator/perfect.rs. */\n".to_owned();
    array(&mut text, "uint16_t pilots", pilots.iter().map(|&pilot| pilot as usize));
    array(&mut text, "uint32_t slots", slots.iter().map(|&low| low as usize));
    Some(text)
}
