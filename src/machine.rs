//! Facts of this machine that every result is stamped with.
