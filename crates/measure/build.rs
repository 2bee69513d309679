//! Compiles the BPF programs by clang, when the `bpf` feature is on: each file twice, for current kernels and for those
//! before Linux 5.12 (`kernel.h`).

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_BPF").is_some() {
        for name in ["phases", "full"] {
            compile(name, name, &[]);
            compile(name, &format!("{name}-before-5.12"), &["-DBEFORE_5_12"]);
        }
    }
}

/// `src/tracer/bpf/NAME.bpf.c` to `OUT_DIR/OBJECT.bpf.o`.
fn compile(name: &str, object: &str, definitions: &[&str]) {
    let folder = PathBuf::from("src/tracer/bpf");
    println!("cargo:rerun-if-changed={}", folder.display());
    let out =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(format!("{object}.bpf.o"));
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let status = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(["-Wno-unused-variable", "-Wno-unused-parameter", "-Wno-missing-field-initializers"])
        .arg(format!("-D__TARGET_ARCH_{}", architecture()))
        .args(definitions)
        .arg("-c")
        .arg(folder.join(format!("{name}.bpf.c")))
        .arg("-o")
        .arg(out)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("`{}` could not compile the BPF programs: {status}", clang.to_string_lossy()),
        Err(error) => panic!(
            "`{}` is needed to compile the BPF programs: {error}\n\
             help: sudo apt-get install clang    (or build without them: cargo build --no-default-features)",
            clang.to_string_lossy()
        ),
    }
}

/// As `kernel.h` (and libbpf) call it.
fn architecture() -> &'static str {
    match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86",
        Ok("aarch64") => "arm64",
        other => panic!(
            "the BPF programs know x86_64 and aarch64, not {other:?}\nhelp: cargo build --no-default-features"
        ),
    }
}
