//! What `trace` reads from executables: layouts, symbols, and the rules for finding callers, applied to a stack.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| firstbyte::analysis::profile::fuzzed::binary(bytes));
