//! The state of a file in the page cache: eviction, and proof of it.
