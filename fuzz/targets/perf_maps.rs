//! `/tmp/perf-PID.map`, which any program may write.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| firstbyte::analysis::profile::fuzzed::perf_map(text));
