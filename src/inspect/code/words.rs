//! Words of one to eight bytes.

/// All bits of a word of some bytes.
pub(super) fn mask(size: u64) -> u64 {
    u64::MAX >> (64 - 8 * size.clamp(1, 8))
}
