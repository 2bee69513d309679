//! Watches the folders that a macro embeds, which does not see new files by itself, and leaves out of the released binary
//! what it cannot use.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Functions with the same machine code are there once.
const FOLD_IDENTICAL_CODE: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for folder in ["claims", "corpus", "throughput"] {
        println!("cargo:rerun-if-changed={folder}");
    }
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        discard_unwind_tables();
        fold_identical_code();
    }
}

/// A program that aborts on panic, as the release profile says, and has no symbols cannot use its unwind tables, a twelfth of
/// the binary. Other linkers than the default one may not know such scripts.
fn discard_unwind_tables() {
    println!("cargo:rerun-if-changed=release.ld");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|set| set == "gnu");
    if !flags.contains("fuse-ld") && is_gnu {
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{folder}/release.ld");
    }
}

/// LLVM's linker, rustc's default on x86-64, can do this; GNU's cannot.
fn fold_identical_code() {
    if links_with(FOLD_IDENTICAL_CODE) {
        println!("cargo:rustc-link-arg-bins={FOLD_IDENTICAL_CODE}");
    }
}

/// Whether the linker of this build takes an argument: links an empty program with it.
fn links_with(argument: &str) -> bool {
    let variable = |name| env::var_os(name).unwrap_or_default();
    let folder = PathBuf::from(variable("OUT_DIR"));
    let source = folder.join("empty.rs");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg("--target").arg(variable("TARGET")).args(["--crate-type", "bin", "-C"]);
    rustc.arg(format!("link-arg={argument}")).arg("-o").arg(folder.join("empty")).arg(&source);

    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={}", linker.display()));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));

    let is_written = std::fs::write(&source, "fn main() {}").is_ok();
    is_written && rustc.output().is_ok_and(|linked| linked.status.success())
}
