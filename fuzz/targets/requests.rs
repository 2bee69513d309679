//! What clients send to the listener of `watch`.
#![no_main]

use firstbyte::prometheus::fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(answer) = fuzzed::answer(bytes) {
        assert!(answer.starts_with("HTTP/1.1 ") && answer.contains("\r\n\r\n"), "{answer}");
    }
});
