//! A Bloom filter (B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", CACM 13, 1970). It finds
//! every word of the list, and some that are not in it. All hashes are made from the two halves of one 64-bit hash
//! (A. Kirsch and M. Mitzenmacher, "Less hashing, same performance", 2006).

use crate::table::array;

/// FNV-1a (RFC 9923), followed by a mix of its bits, because the low ones are weak.
fn hash(word: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = word.iter().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The filter as a C header.
pub fn header(words: &[Vec<u8>], bytes: usize, hashes: usize) -> String {
    let mut filter = vec![0u8; bytes];
    for word in words {
        let hash = hash(word);
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
