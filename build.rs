//! Watches the folders that a macro embeds, which does not see new files by itself, and leaves out of the released binary
//! what it cannot use.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for folder in ["claims", "corpus", "throughput"] {
        println!("cargo:rerun-if-changed={folder}");
    }
    discard_unwind_tables();
}

/// A program that aborts on panic, as the release profile says, and has no symbols cannot use its unwind tables, a twelfth of
/// the binary. Other linkers than the default one may not know such scripts.
fn discard_unwind_tables() {
    println!("cargo:rerun-if-changed=release.ld");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let is_own_linker = !flags.contains("fuse-ld") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_own_linker && is("PROFILE", "release") {
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{folder}/release.ld");
    }
}
