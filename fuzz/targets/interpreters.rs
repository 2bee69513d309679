//! The memory of an interpreter, which a damaged program may have filled with anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| firstbyte_measure::sampler::fuzzed::frames(bytes));
