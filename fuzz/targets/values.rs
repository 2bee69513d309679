//! Values on command lines, and the first lines of scripts.
#![no_main]

use firstbyte::inspect::script::first_line;
use firstbyte_measure::launch::{CpuSet, environment};
use firstbyte_measure::units::{parse_bytes, parse_duration};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = parse_duration(text);
    let _ = parse_bytes(text).map(|bytes| bytes.to_string());
    if let Ok(cpus) = text.parse::<CpuSet>() {
        let shown = cpus.to_string();
        assert_eq!(shown.parse::<CpuSet>().expect("what is shown can be read"), cpus);
    }
    let _ = environment::parsed(text.as_ref());
    let _ = firstbyte_elf::escape::unescape(text.as_bytes());
    let _ = first_line(text.as_bytes());
});
