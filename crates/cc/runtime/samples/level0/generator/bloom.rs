//! A Bloom filter (B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", CACM 13, 1970). It finds
//! every word of the list, and some that are not in it. All hashes are made from the two halves of one 64-bit hash
//! (A. Kirsch and M. Mitzenmacher, "Less hashing, same performance", 2006).

use crate::hash;
use crate::table::array;

/// The filter as a C header.
pub fn header(words: &[Vec<u8>], bytes: usize, hashes: usize) -> String {
    let mut filter = vec![0u8; bytes];
    for word in words {
        let hash = hash::of(word);
        let (first, step) = (hash & 0xffff_ffff, hash >> 32 | 1);
        for index in 0..hashes as u64 {
            let bit = (first + index * step) % (8 * bytes as u64);
            filter[(bit / 8) as usize] |= 1 << (bit % 8);
        }
    }
    let mut text = format!("/* Written by generate; see generator/bloom.rs. */\n#define BLOOM_BYTES {bytes}\n#define HASHES {hashes}\n");
    array(&mut text, "unsigned char filter", filter.iter().map(|&byte| usize::from(byte)));
    text
}
