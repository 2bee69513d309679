//! `program.toml` of the corpus.
#![no_main]

use firstbyte::corpus::Manifest;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(manifest) = Manifest::parse(bytes, "fuzz/program.toml", "fuzz") {
        assert_eq!(manifest.name, "fuzz");
        assert!(!manifest.artifact.is_absolute(), "the artifact is outside of the build");
        manifest.expected.output();
        manifest.packages().count();
    }
});
