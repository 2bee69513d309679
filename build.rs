//! Packs the folders of programs that the binary contains, and leaves out of the released binary what it cannot use.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::env;
use std::fs;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions with the same machine code are there once.
const FOLD_IDENTICAL_CODE: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for folder in ["claims", "corpus", "throughput"] {
        println!("cargo:rerun-if-changed={folder}");
        pack(folder).expect("the folder can be read, and OUT_DIR written");
    }
    survive_trapped_calls();
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        discard_unwind_tables();
        fold_identical_code();
    }
}

/// Writes `OUT_DIR/FOLDER.packed`: each file of each program as a line with its length and its path, and its contents, all
/// compressed (RFC 1951). `src/corpus/embedded.rs` reads it.
fn pack(folder: &str) -> Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let packed = fs::File::create(out.join(folder).with_extension("packed"))?;
    let mut packed = DeflateEncoder::new(packed, Compression::best());
    let folder = Path::new(folder);
    let of_programs = files(folder)?.into_iter().filter(|path| path.parent() != Some(folder));
    for path in of_programs {
        let contents = fs::read(&path)?;
        let path = path.strip_prefix(folder).unwrap_or(&path).display();
        writeln!(packed, "{} {path}", contents.len())?;
        packed.write_all(&contents)?;
    }
    packed.finish().map(drop)
}

/// All files below a folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The static binary begins in `src/trapped_calls.rs`, and creates threads through it.
fn survive_trapped_calls() {
    println!("cargo:rustc-check-cfg=cfg(trapped_calls)");
    let set = |name| env::var(name).unwrap_or_default();
    let is_static = set("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static");
    let is_known = ["x86_64", "aarch64"].contains(&set("CARGO_CFG_TARGET_ARCH").as_str());
    if is_static && is_known && set("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-cfg=trapped_calls");
        println!("cargo:rustc-link-arg-bins=-Wl,--entry=firstbyte_start,--wrap=__clone_internal");
        // the weak reference to it alone takes nothing out of the C library, and is then a call of what happens to follow
        println!("cargo:rustc-link-arg-bins=-Wl,--undefined=__clone_internal");
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

    let is_written = fs::write(&source, "fn main() {}").is_ok();
    is_written && rustc.output().is_ok_and(|linked| linked.status.success())
}
