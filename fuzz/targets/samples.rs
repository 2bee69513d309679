//! The records of `perf_event_open`, and the profile that is made from them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| firstbyte::analysis::profile::fuzzed::samples(bytes));
