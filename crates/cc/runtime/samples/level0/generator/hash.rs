//! The hash of a word, as `level0.c` computes it.

/// FNV-1a (RFC 9923), followed by a mix of its bits, because the low ones are weak.
pub fn of(word: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = word.iter().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
